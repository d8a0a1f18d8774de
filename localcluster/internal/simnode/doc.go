// Package simnode simulates nodes: it registers them, keeps them Ready, and plays
// the kubelet for the Pods that the scheduler binds to them. Pods get an address,
// run, become Ready and end when they are deleted. Nothing is executed, but what a
// Runtime makes real: containers that submit Ray jobs, and Ray heads.
//
// It must be cheap: 10,000 Pods cost one watch whose cache holds only the fields
// that are needed here, and one write per Pod and change.
//
// Annotations of a Pod steer it:
//
//	raygate.io/sim-stay-pending: "true"   it is bound, but never starts
//	raygate.io/sim-exit-code: "0"         its containers end right after they
//	                                      started, with this code; the Pod
//	                                      becomes Succeeded (0) or Failed,
//	                                      whatever its restart policy
//
// docs/localcluster.md is for users, and has the annotations of the Runtime too.
package simnode
