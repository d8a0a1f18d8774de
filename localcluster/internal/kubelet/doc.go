// Package kubelet is the HTTP side of the simulated nodes' kubelets: logs, exec and port-forward of Pods, as the API server asks for them. One
// server answers for all nodes; only the API server's egress leads to it, so it has no listener of its own and asks nobody who they are.
package kubelet
