// Package validation contains every rule on a Ray object. The gateway, the webhooks, the controllers and the command-line tool all use it.
// An object therefore gets the same verdict, at the same field paths and with the same texts, at every entry point.
//
// The package is pure: no client, no clock, no log, no global state. Inputs of a rule besides the object (feature gates, facts about the
// Kubernetes cluster) are in [Options]. It accepts any Go object, including nil parts, and its time is linear in the size of the object.
//
// Each problem has the stable id of its rule in the Origin of the field.Error; [Rules] describes the rules. Errors refuse an object.
// Warnings report settings that work today but may not do what their author expects; they never refuse.
package validation
