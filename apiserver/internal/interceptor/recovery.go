package interceptor

import "github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"

// Recovery turns a panic into an error, which Errors logs and shows as INTERNAL. It stands in the chain twice: outermost so that nothing ends the
// process, and innermost so that a panic of a service is counted and logged as the failed call it is.
func Recovery() Interceptor {
	return Interceptor{Unary: recovery.UnaryServerInterceptor(), Stream: recovery.StreamServerInterceptor()}
}
