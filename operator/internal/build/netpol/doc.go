// Package netpol builds the NetworkPolicies that fence the Pods of a RayCluster off: one for the head and one per worker
// group.
package netpol
