// Package load holds the tests of the gateway under load and in front of a Kubernetes API server that fails. The built gateway runs with
// passthrough and TLS, as in a cluster, on a real API server; a proxy between the two counts and injects faults.
//
// By itself each test takes seconds. With -long they take as long, and as many, as the aims of the project say:
//
//	go test ./test/load -long -timeout 60m
//
// It has no code outside its tests. The programs must have been built (`make build`).
package load
