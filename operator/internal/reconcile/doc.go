// Package reconcile contains the parts of every reconcile, for any kind: an ordered list of steps, a guard against stale cached
// versions, and a status that is saved once.
//
// It depends on no kind and no scope. It must not decide the content or the life cycle of an object.
package reconcile
