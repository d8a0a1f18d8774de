// Package v1 serves KubeRay's V1 API (package proto on the wire) over the same resources as v2: the same store, rules, identities and
// limits. A method checks its request in the order of KubeRay's API server, but reports all problems at once. Package model/v1 makes the
// object, which the method passes on. Lists make no request to Kubernetes per item: only an object that is read by its name has its events.
//
// All objects that a caller may see are shown, independent of their creator. Lists leave out the clusters that the operator keeps for a RayJob or a
// RayService, because clients that clean up by a list must not delete those.
package v1
