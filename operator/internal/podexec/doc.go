// Package podexec carries out a podplan.Plan: it creates and deletes Pods in parallel batches, remembers its writes until the cache shows
// them, and backs off from what the API server refused. A run makes a limited number of requests, so that a cluster of thousands of Pods
// does not keep a worker of the controller from the others. Nothing in it sleeps or waits for a cache.
//
// It must not decide which Pods come and go (package podplan) or what they look like (package build/pod).
package podexec
