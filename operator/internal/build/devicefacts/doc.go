// Package devicefacts keeps in a RayCluster what its autoscaler has to know of the devices of a group and can read nowhere else. Each is one key of
// the rayStartParams or resources of a group, and belongs to the field manager Manager: so it is kept apart from what users write, their server-side
// apply leaves it alone, and it is taken back key by key.
//
// The keys are patched and not applied. Who applies a key of a group owns the group's entry in the list too, and a user who then removes the group by
// server-side apply would keep a remainder of it that the API server refuses; the test of the removal shows both.
//
// The package is pure: it reads an object and returns what to change in it.
package devicefacts
