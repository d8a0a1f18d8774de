// Package ports chooses the TCP ports of the local cluster on the loopback
// address and remembers them, so that addresses survive a restart.
//
// It only asks whether a port is free now; whoever binds it later must still
// cope with somebody having been quicker.
package ports
