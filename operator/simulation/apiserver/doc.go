// Package apiserver is a model of a Kubernetes API server for simulations: typed objects with resource versions, conflicts,
// generations, status subresources, finalizers and preconditions; informer caches that lag behind; and the garbage collector. It
// stores objects unchanged and validates nothing, so that a request costs microseconds. Its errors have the texts of a real API
// server.
//
// It depends on nothing of Ray. The caller provides the clock and all randomness.
package apiserver
