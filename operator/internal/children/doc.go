// Package children writes the objects of an owner except Pods: Services, Secrets, roles, policies. A rejected write is a result,
// not an error, so that the other children are still written.
//
// All children share one back-off, for rejected writes and for objects that another client keeps changing, and one overlay of own
// writes. The package depends on no kind of owner and no scope. It must not decide the content of a child.
package children
