// Command oidc is an identity provider (OpenID Connect) for tests and for `make run LOGIN=oidc`: the server of github.com/zitadel/oidc with two
// users in memory. Everything ends with the process, and its TLS key is public: it protects nothing.
//
// It writes the files that a gateway needs to -dir, and prints the issuer when it serves:
//
//	ca.crt               the CA of its certificate
//	authentication.yaml  the AuthenticationConfiguration for --authentication-config
//
// Tests control it by POST to /control/rotate (a new signing key), /control/away?on=true (every other path fails), and
// /control/end?user=ada (ends the sessions of a user; with notify=true the clients are notified by back-channel logout).
//
// It is a module of its own, because it needs newer versions of modules that the gateway shares with Kubernetes.
package main
