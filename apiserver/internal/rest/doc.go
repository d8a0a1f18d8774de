// Package rest is the HTTP server: health, documentation, cross-origin rules, metrics, and what all versions of the API share. Each version is a
// handler of its own, in a folder below, so that one can be added beside another without either changing. None of them holds logic of the API: a
// request becomes a call of the same services as gRPC and passes the same interceptors.
package rest
