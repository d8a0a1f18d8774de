// Package ownerref finds the objects of an owner in caches and watches by their controller reference.
//
// It depends on no kind and no scope. rayv1.RayCluster.Owns decides whether a Pod belongs to a cluster, for planning, counting and
// watching alike.
package ownerref
