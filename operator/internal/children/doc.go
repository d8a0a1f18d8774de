// Package children writes the objects of an owner besides Pods: Services, Secrets, roles, policies. A refused one is a result and not an
// error, so that the others are made all the same.
//
// All children share one back-off, for what the API server refuses and what something else keeps changing, and one overlay of own writes.
// The package knows no kind of owner and no scope. It must not decide what a child looks like.
package children
