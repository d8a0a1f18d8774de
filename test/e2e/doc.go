// Package e2e has the tests that use raygate as users do: the built programs run on a real control plane with simulated nodes, and every
// step uses an entry point: REST, gRPC, kubectl or the command-line tool.
//
// It has no code outside its tests. The programs must have been built (`make build`).
package e2e
