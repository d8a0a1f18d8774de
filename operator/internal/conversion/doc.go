// Package conversion converts ray.io objects between v1 and v1alpha1 without loss.
//
// v1 is the hub: it is stored, and every other version converts to and from it. Fields that the wanted version lacks are preserved
// in one annotation and restored by the reverse conversion. So an old client that reads and writes an object keeps fields that it
// does not know.
//
// The package works on JSON trees instead of the Go types of controller-runtime's interfaces (Hub, Convertible). A Go type writes
// fields that were absent (status: {}, replicas: null), rewrites quantities, and drops fields of a newer CRD. The difference of
// the versions is computed from both sets of Go types at start, so that new fields of v1 are converted without further code.
//
// The package is pure: it uses no client, clock, defaults or rules. An object that breaks rules must still be readable.
package conversion
