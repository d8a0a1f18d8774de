// Package v1 serves KubeRay's V1 API (package proto of the wire) over the same resources as v2: the same store, rules, identities and limits. A method
// checks what its request says, in the order of KubeRay's API server but all of it at once, lets model/v1 make the object, and hands that on. There is
// no request to Kubernetes per item of a list: events are part of what is read by its name, and not of lists.
//
// All objects that a caller may see are shown, whoever created them. Lists leave out the clusters that the operator keeps for a RayJob or a
// RayService, because clients that clean up by a list must not delete those.
package v1
