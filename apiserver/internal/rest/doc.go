// Package rest is the HTTP server: health, documentation, cross-origin rules, metrics, and the common parts of all API versions. Each
// version is a handler in its own folder, so that versions do not affect each other. None of them contains logic of the API: a request
// becomes a call of the same services as gRPC and passes the same interceptors.
package rest
