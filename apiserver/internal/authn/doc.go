// Package authn finds out who calls. With passthrough the API server says it of the caller's own bearer token; with impersonate a verified client
// certificate or a trusted proxy does; with none nobody is asked. It also makes the Kubernetes clients that act as the caller, so that Kubernetes
// authorizes and audits the real user. It does not decide what a caller may do: that is package authz.
//
// A token is kept only as long as its request runs; caches hold hashes.
package authn
