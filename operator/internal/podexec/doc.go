// Package podexec carries out a podplan.Plan: it creates and deletes Pods in parallel batches, records its writes until the cache
// shows them, and backs off after rejected requests. A run makes a limited number of requests, so that a cluster with thousands of
// Pods does not block a worker of the controller. The package never sleeps or waits for a cache.
//
// It must not decide which Pods to create and delete (package podplan) or their content (package build/pod).
package podexec
