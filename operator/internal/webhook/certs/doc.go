// Package certs manages the serving certificate of the webhooks in clusters without cert-manager. It creates a CA and a
// certificate, stores them in one Secret, configures the CA in the API server, and renews all of it in time.
// open-policy-agent/cert-controller does most of the work. This package adds that a new CA does not replace the old one at once,
// and that a deleted Secret is recreated.
package certs
