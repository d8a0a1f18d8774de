// Package mtls lets cert-manager issue the certificates of RayClusters with mutual TLS, and keeps the IPs of their Pods in them.
// It is separate from package raycluster because it follows frequent changes of Pods, and writes only Issuers, Certificates and
// owner references of their Secrets.
//
// cert-manager may be installed after the operator: the operator checks for it whenever a cluster uses TLS.
package mtls
