// Package filter reads the filter of list and watch requests: a small subset of AIP-160.
//
//	state = "ready"
//	status.readyWorkerReplicas > 3 AND metadata.name : "exp-"
//	NOT metadata.labels."team.example/name" = "a" AND (spec.suspend = true OR spec.rayVersion < "2.50")
//
// As in AIP-160 OR binds tighter than AND, and terms side by side are joined by AND. The operators are =, !=, <, <=, >, >= and
// `:`, which means "contains" for a string, "has the key" for a map, "has the element" for a list, and with the value * "is set".
// Through a list the comparison holds when it holds for any element.
//
// What is compared depends on the field, whose type comes from the message that mirrors the object: numbers, times, quantities (`1500m` is less
// than `2`) and versions (`2.9` is less than `2.10`) by what they say, all else as text. A number, boolean, text or quantity that is not
// set compares as 0, false, the empty text or 0, as everywhere in the API; a time, a version or the key of a map fulfils only !=.
package filter
