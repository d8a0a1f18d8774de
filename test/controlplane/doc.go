// Package controlplane gives tests a real control plane: etcd, API server, controller
// manager, scheduler and simulated nodes on which Pods become Ready, with the
// CustomResourceDefinitions of this repository installed. It runs the
// control-plane command of bin/raygate-local, which `make localcluster` builds;
// nothing is downloaded.
//
// A package starts one for all its tests, because a start takes seconds:
//
//	var controlPlane = controlplane.Share(controlplane.Options{})
//
//	func TestMain(m *testing.M) { controlPlane.Main(m) }
//
//	func TestSomething(t *testing.T) { w := controlPlane.Env(t).World(t, "something-") }
//
// Tests are separated by namespaces; a World is one. Nothing is left behind: the control plane ends with the process that started it, even
// after a crash.
package controlplane
