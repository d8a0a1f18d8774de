// Package history has the test that follows a RayJob from its start until after its deletion, with operator, two gateways and command line as
// they are built, a history store in a folder, and a control plane with simulated nodes.
//
// It has no code outside its test. The programs must have been built (`make build`).
package history
