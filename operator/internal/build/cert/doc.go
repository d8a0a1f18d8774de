// Package cert builds the cert-manager objects of a RayCluster with mutual TLS: a self-signed issuer, a CA certificate that it
// signs, an issuer with that CA, and one certificate each for the head and the workers.
//
// It does not use cert-manager's Go types: five small objects do not justify the dependency.
package cert
