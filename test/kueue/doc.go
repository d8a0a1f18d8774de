// Package kueue runs Ray objects through a real Kueue: its manager, CRDs and webhooks, of the version in program_test.go, beside the built
// programs on a real control plane with simulated nodes. The command line submits to a queue, and its diagnoses are compared with what
// Kueue does: a job that waits for quota, a job that another one preempts, and a job that runs.
//
// It has no code outside its tests, and runs in make test-all. The programs must have been built (`make build`). Go downloads and builds
// Kueue as it does any other program, which takes minutes the first time.
package kueue
