// Package report is how a controller tells users what happens: conditions, events that are sent after the status that goes with
// them is saved, and one memory of what was said.
//
// It knows no kind and no scope.
package report
