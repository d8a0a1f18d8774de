// Package report informs users about the work of a controller: it sets conditions, sends events after the corresponding status is
// saved, and records what was sent.
//
// It depends on no kind and no scope.
package report
