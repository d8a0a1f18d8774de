// Package raycluster reconciles RayClusters: an ordered list of small steps reads what is there, has builders and
// podplan decide what should be, writes the difference, and saves the status once.
//
// It must not decide what a Pod or Service looks like (operator/internal/build), which Pods come and go
// (operator/internal/podplan), or whether a spec is valid (pkg/validation). It waits on nothing but the API server.
package raycluster
