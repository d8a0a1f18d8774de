// Package apiserver is a model of a Kubernetes API server for simulations: typed objects with resource versions, conflicts, generations, status
// subresources, finalizers and preconditions; informer caches that lag behind it; and the garbage collector. It stores objects as they are and
// validates nothing, so that a request costs microseconds. What it answers is in the words of a real API server.
//
// It knows no Ray. All time is that of the clock it is given, and all randomness is its caller's.
package apiserver
