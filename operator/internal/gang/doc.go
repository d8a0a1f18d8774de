// Package gang defines the input for batch schedulers, so that the Pods of a Ray cluster are scheduled together or not at all:
// labels, annotations and the scheduler's name on Pods, and objects such as a PodGroup.
//
// Each scheduler has a folder with an implementation of Scheduler: pure functions of a Workload. Only package keeper calls the API
// server. The kinds of a scheduler's objects may not be installed, so they are described by plain values instead of Go types of
// the scheduler's module.
package gang
