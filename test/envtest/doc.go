// Package envtest gives tests a real control plane: etcd, API server, controller
// manager, scheduler and simulated nodes on which Pods become Ready, with the
// CustomResourceDefinitions of this repository installed. It runs the
// control-plane command of bin/raygate-local, which `make localcluster` builds;
// nothing is downloaded.
//
// A package starts one for all its tests, because a start takes seconds:
//
//	var env *envtest.Env
//
//	func TestMain(m *testing.M) {
//		e, stop, err := envtest.StartForMain(envtest.Options{})
//		if err != nil {
//			fmt.Fprintln(os.Stderr, err)
//			os.Exit(1)
//		}
//		env = e
//		code := m.Run()
//		stop()
//		os.Exit(code)
//	}
//
// Tests keep apart by namespaces. Nothing is left behind: the control plane ends
// with the process that started it, however that ends.
package envtest
