// Package rpcstatus converts errors to gRPC statuses: one table for every method and both transports.
//
// A status always has an ErrorInfo with a stable reason. Errors of other packages are added to the table where the gateway is wired, as
// [Row]s, so that this package does not depend on the packages whose errors it translates.
package rpcstatus
