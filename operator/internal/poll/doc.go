// Package poll asks slow and unreliable targets for their state and sends them commands, off the reconcile path: a
// reconcile registers what it wants to know, reads the last answer without waiting, and is woken when the answer changed.
// The package knows no kind and no protocol.
//
// Each target has at most one request in flight. Requests run in two lanes of bounded width. All start in the fast lane; a
// request that lasts longer than Options.SlowAfter is moved to the slow lane, and its target begins there until it answers
// quickly again. So a target that hangs holds a place of the fast lane once, and for no longer than that.
// TestHangingTargetsDelayNobody fails without the lanes.
package poll
