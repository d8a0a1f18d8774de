// Package condition evaluates CEL conditions of a registry of device families, for rules that its other fields cannot express. They are
// compiled, and their cost is limited, when a registry is loaded.
//
// A condition depends only on the container, the Pod's labels and annotations, and the requested amounts: it has no clock and no access to
// the cluster.
package condition
