// Package ports chooses the TCP ports of the local cluster on the loopback
// address and remembers them, so that addresses survive a restart.
//
// It only checks whether a port is free now. The process that binds the port later must handle the case that another process was
// faster.
package ports
