// Package resources knows how resource amounts of containers are read: which names count as GPUs and what a container
// asks for. It stands apart because start parameters, status totals and gang scheduling must agree on it.
package resources
