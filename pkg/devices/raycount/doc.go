// Package raycount counts the devices of a Ray node: for Ray, which is started with these numbers, and for Ray's autoscaler, which reads
// them from the RayCluster and never sees the Pod. It depends only on a plan and on the user's spec.
package raycount
