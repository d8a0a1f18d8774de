// Package load has the tests of the gateway under load and in front of a failing Kubernetes API server. The built gateway runs with
// passthrough and TLS, as in a cluster, on a real API server; a proxy between both counts requests and injects faults.
//
// By default each test takes seconds. With -long their durations and numbers are those of the project's aims:
//
//	go test ./test/load -long -timeout 60m
//
// It has no code outside its tests. The programs must have been built (`make build`).
package load
