// Package flowcontrol admits calls before a byte of their body is read: it identifies the caller and checks the limits. REST and gRPC use the same
// Controller. The context of an admitted call has its caller. Only the headers of a refused call are read.
//
// A gRPC server reads and decodes the request of a unary method before it calls any interceptor. Therefore flow control registers unary methods as
// streams, which are the same on the wire and whose handlers read the request themselves.
package flowcontrol
