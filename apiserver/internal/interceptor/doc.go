// Package interceptor has the steps of every call after admission by flow control, one file each. Calls by gRPC and by REST pass the same
// steps. Their order is defined in one place, in the wiring of the process.
package interceptor
