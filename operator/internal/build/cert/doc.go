// Package cert builds what cert-manager has to make for a RayCluster with mutual TLS: an issuer that signs itself, a
// certificate authority signed by it, an issuer of that authority, and one certificate each for the head and the workers.
//
// cert-manager's Go types are not used: five small objects do not justify the dependency.
package cert
