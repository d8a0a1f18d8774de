// Package devicefacts stores in a RayCluster the facts about devices that its autoscaler cannot read elsewhere. Each fact is a key
// in the rayStartParams or resources of a group, and belongs to the field manager Manager. So facts are separate from user values,
// server-side apply of users does not touch them, and they can be removed key by key.
//
// The keys are patched, not applied. A manager that applies a key of a group also owns the group's list entry. If a user then
// removed the group by server-side apply, an invalid rest of it would remain; the test of the removal shows both.
//
// The package is pure: it reads an object and returns the changes.
package devicefacts
