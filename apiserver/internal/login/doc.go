// Package login logs people in to the console with identity providers (OpenID Connect): the authorization code flow with a proof key (PKCE), sessions that
// are renewed, and their end.
//
// A session is sealed and kept by the browser. It has the ID token, which identifies the caller of each request as a bearer token does, and the refresh
// token. The provider is asked with the refresh token before the ID token expires, and at least every Config.CheckInterval, so that a session ends when the
// provider ends it. The package stores only which sessions have ended, and shares that among replicas.
package login
