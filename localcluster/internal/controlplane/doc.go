// Package controlplane runs etcd, the API server, the controller manager and the
// scheduler as child processes on the loopback address, with all their data, keys
// and logs below one folder.
//
// It is a cluster for developing and testing on one machine: etcd has no
// authentication on its loopback port, and every kubeconfig it writes is an
// administrator's.
package controlplane
