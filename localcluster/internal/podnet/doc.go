// Package podnet is the network of the simulated Pods: there is none, so it leads connections to their addresses into functions of this
// process. The API server comes in by its egress selector, which sends HTTP CONNECT to a Unix socket; processes of simulated Pods come in by
// an HTTP proxy on the loopback address that knows each of them by a password in its environment, finds Services by their names, and takes
// 127.0.0.1 for the Pod that asks.
package podnet
