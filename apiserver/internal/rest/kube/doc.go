// Package kube serves a few paths of the Kubernetes API, as KubeRay's API server does for its dashboard and for clients that speak to Kubernetes: Ray's
// custom resources, their events, and the proxy of the Services that belong to clusters. It passes requests on with the identity of their caller and
// answers back as they come, watches included; what callers may do Kubernetes says. It is no way to anything else of Kubernetes.
package kube
