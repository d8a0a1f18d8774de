package gang

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Scheduler is one batch scheduler. Its methods depend on their arguments only, change nothing but what they are given
// to change, and never panic, however broken the workload is.
type Scheduler interface {
	// Name is what the scheduler is called in settings and messages.
	Name() string
	// Plan says which objects the scheduler wants for the workload, and what keeps it from placing it as asked for.
	Plan(w *Workload) Plan
	// Decorate makes a Pod part of the workload. member is the name of one of its members. It happens to a Pod when nothing but
	// the labels of its place in a replica is missing, and wins over what the user wrote. spec is nil for what is no Pod but hands
	// its metadata on, such as the RayCluster of a RayJob; member is empty then.
	Decorate(w *Workload, member string, meta *metav1.ObjectMeta, spec *corev1.PodSpec)
}

// Plan is what a scheduler needs for one workload.
type Plan struct {
	// Objects are those to have, in the order in which they are to be made, and those to get rid of.
	Objects []Object
	// Problems are sentences, without a full stop, about what the user asked for and will not get. The workload runs all
	// the same.
	Problems []string
	// Refusal is a sentence about why the workload cannot run with this scheduler; empty if it can.
	Refusal string
}

// Kind is a kind of object of a scheduler's API.
type Kind struct {
	Group, Kind string
	// Versions that are understood, the preferred one first.
	Versions []string
}

// Object is an object of a scheduler.
type Object struct {
	Kind Kind
	// Name in the namespace of the workload.
	Name string
	// Absent asks for the object to be gone. Only Kind and Name count then, and Finalizer.
	Absent bool

	// Labels and Annotations are set when the object is made.
	Labels, Annotations map[string]string
	// Controller makes the owner of the workload the controller of the object, instead of a plain owner.
	Controller bool
	// Spec is the spec in a version of the kind: of maps, slices, strings, booleans and int64.
	Spec func(version string) map[string]any
	// Status is set when the object is made; nil for none.
	Status map[string]any
	// Follow are JSON pointers to the fields that have to stay as Spec says, "/spec/minMember". What is missing in Spec is
	// removed. All other fields are left alone once the object exists.
	Follow []string
	// Fixed reports whether the API server lets nobody change those fields, so that the object has to be made again. Nil
	// means never.
	Fixed func(version string) bool
	// Finalizer is taken off when the object is deleted: it waits for Pods that are to stay. Empty means none.
	Finalizer string
}
