// Package gang is what the operator writes for batch schedulers, so that the Pods of a Ray cluster are placed together or not
// at all: labels, annotations and the scheduler's name on Pods, and objects such as a PodGroup.
//
// There is one folder per scheduler, each an implementation of Scheduler: pure functions of a Workload. Only the package
// keeper talks to the API server. Schedulers' objects are of kinds that may not be installed, and come and go with the
// scheduler, so they are described by plain values and not by the Go types of each scheduler's module.
package gang
