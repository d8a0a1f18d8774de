// Package kubelet implements the HTTP API of the simulated kubelets: logs, exec and port-forward of Pods. One server answers for
// all nodes. It is reachable only through the API server's egress, so it has no listener and no authentication of its own.
package kubelet
