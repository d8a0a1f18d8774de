// Package resources reads resource amounts of containers: which names are GPUs, and what a container requests. Start parameters,
// status totals and gang scheduling share it.
package resources
