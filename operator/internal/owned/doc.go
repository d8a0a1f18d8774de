// Package owned finds the objects of an owner, in caches and in watches, by the controller that they name.
//
// It knows no kind and no scope. Whether a Pod counts as a cluster's is rayv1.RayCluster.Owns, for planning, counting and watching
// alike.
package owned
