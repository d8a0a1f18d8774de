// Package rpcstatus turns errors into gRPC statuses: one table for every method and both entry points.
//
// A status always has an ErrorInfo with a stable reason. Errors of other packages are added to the table where the gateway is wired, as
// [Row]s, so that this package does not depend on the packages whose errors it translates.
package rpcstatus
