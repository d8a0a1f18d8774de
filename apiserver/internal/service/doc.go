// Package service has one file for each gRPC service of raygate.v2: an adapter that hands requests on to package resource, and what is particular
// to the kind. Methods return plain errors; an interceptor makes statuses of them.
package service
