// Package mtls has cert-manager make the certificates of RayClusters with mutual TLS, and keeps the addresses of their Pods in
// them. It is apart from package raycluster because it follows Pods, which come and go all the time, and writes nothing but
// Issuers, Certificates and the owners of their Secrets.
//
// cert-manager may be installed after the operator: it is looked for whenever a cluster wants TLS.
package mtls
