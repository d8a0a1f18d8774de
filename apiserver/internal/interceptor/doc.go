// Package interceptor holds what every call passes through once the edge has let it in, one file each. Calls by gRPC and by REST take the same way.
// The order is written in one place, in the wiring of the process.
package interceptor
