// Command raygate-local runs a Kubernetes control plane with simulated nodes on
// this machine, and raygate in it: for trying raygate, and for its tests.
//
//	raygate-local run             everything, in the foreground
//	raygate-local up|down|status  the same in the background
//	raygate-local reset           stop and forget all data
//	raygate-local control-plane   only the control plane and nodes, for tests
//
// Everything listens on the loopback address only. It is no cluster for
// production: etcd is open to every user of the machine.
package main
