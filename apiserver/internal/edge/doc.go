// Package edge admits calls before a byte of their body is read: it identifies the caller and checks the limits. REST and gRPC use the same Edge. An
// admitted call carries its caller in the context. Of a refused call only the headers are read.
//
// A gRPC server reads and decodes the request of a unary method before it calls any interceptor. Therefore the edge registers unary methods as
// streams, which are the same on the wire and whose handlers read the request themselves.
package edge
