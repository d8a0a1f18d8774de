// Package poll asks slow and unreliable targets for their state and sends them commands, off the reconcile path: a
// reconcile registers what it wants to know, reads the last answer without waiting, and is woken when the answer changed.
// The package knows no kind and no protocol.
//
// Each target has a goroutine of its own and at most one request in flight, so that a target that hangs delays no other.
package poll
