// Package raycluster reconciles RayClusters with an ordered list of small steps. The steps read the current state, let builders
// and podplan compute the wanted state, write the difference, and save the status once.
//
// It must not decide the content of a Pod or Service (operator/internal/build), which Pods to create and delete
// (operator/internal/podplan), or whether a spec is valid (pkg/validation). It waits only for the API server.
package raycluster
