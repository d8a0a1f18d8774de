// Package conversion turns ray.io objects from v1 into v1alpha1 and back without losing anything.
//
// v1 is the hub: it is stored, and every other version converts to it and from it. What the wanted version cannot say
// travels along in one annotation, the preserved fields, and is put back on the way home. Thus an old client that reads an object and
// writes it again keeps every field that it does not know.
//
// The package works on JSON trees and not on the Go types, although controller-runtime has interfaces (Hub, Convertible)
// for those: a Go type writes fields that were absent (status: {}, replicas: null), rewrites quantities, and drops what a
// newer CRD has added. The difference of the versions is not written down by hand either. It is worked out from the two
// sets of Go types at start, so that a field added to v1 is converted from its first day.
//
// It is pure: no client, no clock, no defaults, no rules. An object that breaks rules must still be readable.
package conversion
