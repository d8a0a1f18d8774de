package simulation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rule is about the end of objects in one situation. It reports whether an object is in that situation, and what is wrong with it; empty for an
// object that has reached its end.
type rule[T client.Object] func(w *world, o T) (wrong string, applies bool)

// unfinished describes an object that has not reached its final state; empty if there is none.
func (w *world) unfinished() string {
	if why := unfinishedOf(w, kindRayJob, jobEnds); why != "" {
		return why
	}
	if why := unfinishedOf(w, kindRayService, serviceEnds); why != "" {
		return why
	}
	return unfinishedOf(w, kindCluster, clusterEnds)
}

// unfinishedOf asks for each object of a kind the first rule that applies.
func unfinishedOf[T client.Object](w *world, kind schema.GroupKind, rules []rule[T]) string {
	for _, o := range w.store.All(kind) {
		if wrong := wrongWith(w, o.(T), rules); wrong != "" {
			return kind.Kind + " " + o.GetName() + " " + wrong
		}
	}
	return ""
}

func wrongWith[T client.Object](w *world, o T, rules []rule[T]) string {
	for _, r := range rules {
		if wrong, applies := r(w, o); applies {
			return wrong
		}
	}
	return ""
}

// unless returns a sentence, or nothing if a condition holds.
func unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func isDeleted[T client.Object](_ *world, o T) (string, bool) {
	return "is being deleted", o.GetDeletionTimestamp() != nil
}
