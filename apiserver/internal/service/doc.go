// Package service has the particular parts of each kind, and registers its gRPC service: package resource implements the standard methods,
// by their names. A kind is a [resource.Kind] here, and none of its standard methods is repeated. Methods return plain errors; an
// interceptor converts them to statuses.
package service
