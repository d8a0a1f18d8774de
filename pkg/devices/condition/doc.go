// Package condition has the conditions that a registry of device families may state in CEL, for what its other words cannot say. They are compiled
// and bounded in cost when a registry is loaded.
//
// A condition is a function of the container, the Pod's labels and annotations, and the amounts that are asked for: it has no clock and no cluster.
package condition
