// Package v1alpha1 holds the old, deprecated version of the ray.io API: RayCluster, RayJob and RayService as they were
// before v1. RayCronJob came with v1 and has no other version.
//
// It is served for clients that were written before v1 and is frozen: no field is added or changed here. Every object is
// stored as v1; fields that only v1 has are out of sight of these clients and, where the conversion webhook is installed,
// safe from them. The types exist for the schema in the CRDs and for the converter, which compares them with those of v1;
// nothing in the operator works with them.
//
// +kubebuilder:object:generate=true
// +groupName=ray.io
package v1alpha1
