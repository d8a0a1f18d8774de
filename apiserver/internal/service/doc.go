// Package service implements the gRPC services of raygate.v2. A method checks what only the request knows, has the model convert,
// validation judge and the store act. It returns plain errors; an interceptor makes statuses of them.
package service
