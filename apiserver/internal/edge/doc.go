// Package edge decides on a call before a byte of its body is read: who sends it, and is there room for it. REST and gRPC use the same Edge. What
// passes carries its caller in the context; a call that has been refused has cost a look at its header.
//
// A gRPC server reads and decodes the request of a unary method before it calls any interceptor. Therefore services are registered here with unary
// methods in the form of streams, which look the same on the wire, and whose handler reads the request when it wants it.
package edge
