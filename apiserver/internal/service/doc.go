// Package service has what is particular to each kind, and registers its gRPC service: the standard methods go to package resource, by their names.
// So a kind is a [resource.Kind] here, and no method of it is written again. Methods return plain errors; an interceptor makes statuses of them.
package service
