// Package validation holds every rule on a Ray object. The gateway, the webhooks, the controllers and the command-line
// tool all ask it, so that an object gets the same verdict, at the same field paths and in the same words, whichever
// entry point it came through.
//
// The package is pure: no client, no clock, no log, no global state. What a rule has to know beyond the object (feature
// gates, facts about the Kubernetes cluster) arrives in [Options]. It accepts any object that Go can hold, nil parts
// included, and takes time in proportion to the size of the object.
//
// Each problem carries the stable id of its rule in the Origin of the field.Error; [Rules] describes the rules.
// Errors refuse an object. Warnings tell of what works today but not as its author may think; they never refuse.
package validation
