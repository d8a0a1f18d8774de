// Package authn finds out who calls, and asks Kubernetes what the caller may read.
//
// It proves no identity itself: with passthrough the caller's bearer token goes with every write and with every access review, so that
// Kubernetes authenticates, authorizes and audits the real user. Tokens are kept in memory only as long as a request runs; caches
// hold hashes.
package authn
