// Package child holds what all children of a RayCluster have in common: whose they are and how they are found.
package child
