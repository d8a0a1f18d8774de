// Package netpol builds the NetworkPolicies of a RayCluster: one for the head and one per worker group.
package netpol
