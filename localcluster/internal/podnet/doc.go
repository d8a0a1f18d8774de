// Package podnet simulates the network of Pods: it passes connections to their addresses to functions of this process. The API
// server connects through its egress selector, which sends HTTP CONNECT to a Unix socket. Processes of simulated Pods connect
// through an HTTP proxy on the loopback address, which identifies each Pod by a password in its environment. The proxy resolves
// Services by name, and 127.0.0.1 to the requesting Pod.
package podnet
