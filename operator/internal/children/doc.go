// Package children writes what an owner has besides Pods: Services, Secrets, roles, policies, whatever a builder builds. One that
// cannot be had is a result and not an error, so that it keeps nothing else from being made.
//
// All children share one back-off, for what the API server refuses and what something else keeps changing, and one overlay of own writes.
// The package knows no kind of owner and no scope. It must not decide what a child looks like.
package children
