// Package deviceadmission serves the webhooks for Pods that request shared accelerators. The mutating webhook completes the Pod
// according to the registry of package pkg/devices; it does not check quotas. The validating webhook checks the finished Pod
// against the rules and against the quotas of its namespace.
//
// The package is an adapter: pkg/devices/plan computes what a Pod needs. Unlike in the webhooks for Ray objects, an internal error
// fails the call, so that the failure policy of the registration decides.
package deviceadmission
