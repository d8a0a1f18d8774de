// Package authn authenticates callers. With passthrough the API server authenticates the caller's own bearer token; with impersonate a
// verified client certificate or a trusted proxy does; with none there is no authentication. The package also makes the Kubernetes clients
// that act as the caller, so that Kubernetes authorizes and audits the real user. It does not authorize callers: see package authz.
//
// A token is kept only as long as its request runs; caches hold hashes.
package authn
