// Package filter reads the filter of list and watch requests: a small subset of AIP-160.
//
//	state = "ready"
//	status.readyWorkerReplicas > 3 AND metadata.name : "exp-"
//	NOT metadata.labels."team.example/name" = "a" AND (spec.suspend = true OR spec.rayVersion < "2.50")
//
// As in AIP-160, OR binds tighter than AND, and adjacent terms are joined by AND. The operators are =, !=, <, <=, >, >= and `:`. `:` means
// "contains" for a string, "has the key" for a map, "has the element" for a list, and with the value * "is set". A comparison with a list
// is true if it is true of any element.
//
// The type of a field comes from the message that mirrors the object and decides how values compare. Numbers, times, quantities (`1500m` is
// less than `2`) and versions (`2.9` is less than `2.10`) compare by value, all others as text. An unset number, boolean, text or quantity
// compares as 0, false, the empty text or 0, as everywhere in the API. An unset time, version or map key matches only !=.
package filter
