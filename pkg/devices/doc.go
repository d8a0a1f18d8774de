// Package devices describes families of accelerators that can be shared: the resource names that Pods request, with their units, rules and
// defaults; additions to containers that have a device; and how the devices count in Ray. A family is data: a new one is an entry in a
// file, never code.
//
// This package has the types, reads a file strictly and checks what can be checked without planning. Package plan applies entries to Pods,
// package load does all of this for a file, package shipped has the families that come with the operator.
//
// +groupName=devices.ray.io
// +versionName=v1alpha1
package devices
