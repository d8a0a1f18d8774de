// Package kueue runs Ray objects through a real Kueue: its manager, CRDs and webhooks, of the version in module_test.go, beside the built
// programs on a real control plane with simulated nodes. The command line submits to a queue, and its diagnoses are compared with what
// Kueue does: a job that waits for quota and has a position in its queue, a job that another one preempts, a cluster that grows, and a job that
// runs in another control plane.
//
// It has no code outside its tests, and runs in make test-all. The programs must have been built (`make build`). Go downloads and builds
// Kueue, with other addresses of its server for positions, which takes minutes the first time.
package kueue
