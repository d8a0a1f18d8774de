// Package gang defines the input for batch schedulers, so that the Pods of a Ray cluster are scheduled together or not at all:
// labels, annotations and the scheduler's name on Pods, and objects such as a PodGroup.
//
// Each scheduler has a folder with an implementation of Scheduler: pure functions of a Workload. Only package keeper calls the API
// server. The kinds of a scheduler's objects may not be installed, so they are described by plain values instead of Go types of
// the scheduler's module.
package gang

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Scheduler is one batch scheduler. Its methods depend only on their arguments, modify only the objects that they decorate, and
// never panic, even for an invalid workload.
type Scheduler interface {
	// Name returns the name of the scheduler in settings and messages.
	Name() string
	// Plan returns the objects that the scheduler needs for the workload, and the problems that prevent the requested scheduling.
	Plan(w *Workload) Plan
	// Decorate adds a Pod to the workload. member is the name of one of its members. The Pod is complete except for the labels of
	// its place in a replica, and Decorate overrides values of the user. spec is nil and member empty for an object that passes its
	// metadata on to Pods, such as the RayCluster of a RayJob.
	Decorate(w *Workload, member string, meta *metav1.ObjectMeta, spec *corev1.PodSpec)
}

// Plan contains the objects and problems of one workload.
type Plan struct {
	// Objects are the objects to create, in this order, and those to delete.
	Objects []Object
	// Problems are requests of the user that are not fulfilled, as sentences without a full stop. The workload runs all the same.
	Problems []string
	// Refusal is why the workload cannot run with this scheduler; empty if it can.
	Refusal string
}

// Kind is a kind of object of a scheduler's API.
type Kind struct {
	Group, Kind string
	// Versions are the supported versions, the preferred one first.
	Versions []string
}

// Object is an object of a scheduler.
type Object struct {
	Kind Kind
	// Name is the name in the namespace of the workload.
	Name string
	// Absent requests the deletion of the object. Then only Kind, Name and Finalizer are used.
	Absent bool

	// Labels and Annotations are set at creation.
	Labels, Annotations map[string]string
	// Controller makes the owner of the workload the controller of the object instead of a plain owner.
	Controller bool
	// Spec returns the spec in a version of the kind. It consists of maps, slices, strings, booleans and int64.
	Spec func(version string) map[string]any
	// Status is set at creation; nil for none.
	Status map[string]any
	// Follow are JSON pointers to the fields that are kept as in Spec, for example "/spec/minMember". Fields that Spec lacks are
	// removed. All other fields of an existing object are left alone.
	Follow []string
	// Fixed reports whether these fields are immutable in the version, so that the object has to be recreated. Nil means never.
	Fixed func(version string) bool
	// Finalizer is removed when the object is deleted, because it would wait for Pods that stay. Empty means none.
	Finalizer string
}
