// Package reconcile is what every reconcile consists of, whatever the kind: an ordered list of steps, a guard against versions that
// the cache is late to replace, and a status that is saved once.
//
// It knows no kind and no scope. It must not decide what an object should look like or what happens to it.
package reconcile
