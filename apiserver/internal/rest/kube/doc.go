// Package kube serves a few paths of the Kubernetes API, as KubeRay's API server does for its dashboard and for Kubernetes clients. These
// are Ray's custom resources, their events, and the proxy of the Services of clusters. It passes requests on with the identity of their
// caller and streams answers back, including watches. Kubernetes authorizes the callers. All other paths of Kubernetes are unreachable.
package kube
