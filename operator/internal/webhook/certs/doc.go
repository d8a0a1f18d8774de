// Package certs keeps the serving certificate of the webhooks in order in clusters without cert-manager: it makes a CA
// and a certificate, stores them in one Secret, tells the API server about the CA, and renews all of it in time. The work
// is done by open-policy-agent/cert-controller; what is added here is that a new CA does not replace the old one at once, and that
// a Secret that is deleted is created anew.
package certs
