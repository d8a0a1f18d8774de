// Package interceptor holds what every call passes through, one file each. Calls by gRPC and by REST take the same way. The order is
// written in one place, in the wiring of the process.
package interceptor

import "google.golang.org/grpc"

// Interceptor is one step of the chain, for both kinds of calls.
type Interceptor struct {
	Unary  grpc.UnaryServerInterceptor
	Stream grpc.StreamServerInterceptor
}

// ServerOptions turns a list, outermost first, into options of a gRPC server.
func ServerOptions(chain []Interceptor) []grpc.ServerOption {
	unary := make([]grpc.UnaryServerInterceptor, 0, len(chain))
	stream := make([]grpc.StreamServerInterceptor, 0, len(chain))
	for _, i := range chain {
		if i.Unary != nil {
			unary = append(unary, i.Unary)
		}
		if i.Stream != nil {
			stream = append(stream, i.Stream)
		}
	}
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(unary...), grpc.ChainStreamInterceptor(stream...)}
}
