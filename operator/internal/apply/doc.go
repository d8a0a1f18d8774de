// Package apply brings one object in the API server to the state that a builder asked for: it creates what is missing,
// patches what differs, and refuses to touch what another owner made.
//
// It works for every kind, typed or unstructured; what is peculiar to a kind is in the table of kinds.go. It must not decide
// what the object looks like; that is the builders' part. It is apart so that the rule about ownership exists once, for all
// kinds of children.
package apply
