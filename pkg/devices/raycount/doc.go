// Package raycount says what the devices of a Ray node count as: to Ray, which is started with these numbers, and to Ray's autoscaler, which
// reads them from the RayCluster and never sees the Pod. It is a function of a plan and of what the user wrote.
package raycount
