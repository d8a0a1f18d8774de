// Package filter reads the filter of list and watch requests: a small subset of AIP-160.
//
//	state = "ready"
//	status.readyWorkerReplicas > 3 AND metadata.name : "exp-"
//	NOT metadata.labels."team.example/name" = "a" AND (spec.suspend = true OR spec.rayVersion < "2.50")
//
// As in AIP-160 OR binds tighter than AND, and terms side by side are joined by AND. The operators are =, !=, <, <=, >, >= and
// `:`, which means "contains" for a string, "has the key" for a map, "has the element" for a list, and with the value * "is set".
// Through a list the comparison holds when it holds for any element. A field that is not set fulfils only != and NOT.
package filter
