// Package poll queries slow and unreliable targets and sends them commands outside of reconciles. A reconcile registers a query,
// reads the last answer without waiting, and is triggered when the answer changes. The package depends on no kind and no protocol.
//
// Each target has its own goroutine and at most one request in flight, so that a target that hangs delays no other.
package poll
