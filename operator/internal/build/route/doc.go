// Package route builds the object that publishes the dashboard outside the Kubernetes cluster: an Ingress, or a Route on
// OpenShift.
package route
