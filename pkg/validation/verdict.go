package validation

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/internal/cluster"
	"github.com/raygate/raygate/pkg/validation/internal/cronjob"
	"github.com/raygate/raygate/pkg/validation/internal/job"
	"github.com/raygate/raygate/pkg/validation/internal/service"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// Verdict is the result of validating an object.
type Verdict struct {
	// Errors refuse the object, or the update.
	Errors field.ErrorList
	// Warnings do not refuse the object. Those of an update include unchanged errors of the old object.
	Warnings field.ErrorList
}

// Checks are the entry points of one kind, for callers that do not know the kind until they get an object. An object of another kind than
// Kind is a programming error and panics; nil objects are allowed.
type Checks struct {
	// Kind is the name, as in RayCluster.
	Kind string
	// New returns an empty object.
	New func() Object
	// SetDefaults fills in the defaults of the CRD's schema.
	SetDefaults func(Object)
	// Create is the verdict on an object that is being created, or without an old version. A nil object counts as one without a spec. The
	// object should have its schema defaults; without them, the rules that need a value report it.
	Create func(object Object, o Options) Verdict
	// Update is the verdict on a change of an object. An unchanged old problem passes with a warning, so that a new rule never blocks the
	// autoscaler or a finalizer on a stored object. An object that is being deleted passes, and so does an update that does not change
	// spec, labels and annotations. A nil old object makes it Create.
	Update func(object, old Object, o Options) Verdict
	// Status returns the errors in the status alone, for callers that write it. Create includes them.
	Status func(object Object, o Options) field.ErrorList
}

// For returns the checks for the kind of the object, by the name of its type. It reports false for unsupported kinds.
func For(object runtime.Object) (Checks, bool) { return ForKind(reflect.TypeOf(object).Elem().Name()) }

// ForKind is For by the name of the kind.
func ForKind(kind string) (Checks, bool) {
	for _, c := range AllChecks() {
		if c.Kind == kind {
			return c, true
		}
	}
	return Checks{}, false
}

// AllChecks returns the checks of all kinds, by name.
func AllChecks() []Checks { return []Checks{clusterChecks, cronJobChecks, jobChecks, serviceChecks} }

var (
	clusterChecks = checksOf("RayCluster", rayv1.SetRayClusterDefaults, kind[rayv1.RayCluster]{
		spec: func(rc *rayv1.RayCluster) any { return &rc.Spec }, roots: ruleRoots{cluster: "spec"},
		check: cluster.Check, status: cluster.CheckStatus, transition: cluster.CheckTransition,
		unused: func(rc *rayv1.RayCluster, _ Options) []string { return cluster.GroupsWithoutPods(&rc.Spec, "spec") },
	})
	jobChecks = checksOf("RayJob", rayv1.SetRayJobDefaults, kind[rayv1.RayJob]{
		spec: func(rj *rayv1.RayJob) any { return &rj.Spec }, roots: ruleRoots{cluster: "spec.rayClusterSpec", job: "spec"},
		check: job.Check, status: job.CheckStatus, transition: job.CheckTransition,
		unused: func(rj *rayv1.RayJob, _ Options) []string { return job.Unused(&rj.Spec, "spec") },
	})
	serviceChecks = checksOf("RayService", rayv1.SetRayServiceDefaults, kind[rayv1.RayService]{
		spec: func(rs *rayv1.RayService) any { return &rs.Spec }, roots: ruleRoots{cluster: "spec.rayClusterConfig"},
		check: service.Check, transition: service.CheckTransition, unused: service.Unused,
	})
	cronJobChecks = checksOf("RayCronJob", rayv1.SetRayCronJobDefaults, kind[rayv1.RayCronJob]{
		spec: func(cj *rayv1.RayCronJob) any { return &cj.Spec }, roots: ruleRoots{cluster: "spec.jobTemplate.rayClusterSpec", job: "spec.jobTemplate"},
		check: cronjob.Check, transition: cronjob.CheckTransition,
		unused: func(cj *rayv1.RayCronJob, _ Options) []string {
			return job.Unused(&cj.Spec.JobTemplate, "spec.jobTemplate")
		},
	})
)

// Create is [Checks.Create] of the kind of the object.
func Create(object Object, o Options) Verdict {
	checks, _ := For(object)
	return checks.Create(object, o)
}

// RayClusterFacts returns only those problems of a RayCluster, errors and warnings, that follow from o.Facts. Each concerns a single child
// of the cluster, so that a controller can report them and continue with the rest. Create includes them.
func RayClusterFacts(rc *rayv1.RayCluster, o Options) field.ErrorList { return cluster.Facts(rc, o) }

// kind is the set of checks for objects of one kind. Its functions get objects that are not nil.
type kind[T any] struct {
	spec func(*T) any
	// roots are the places in the object that rules check.
	roots ruleRoots
	// check checks a single object, including its status; status checks only the status. Nil means that no rule is about the status.
	check  func(*rule.Report, *T, Options)
	status func(*rule.Report, *T)
	// transition compares the old object with the new one. Its problems are never ratcheted.
	transition func(out *rule.Report, object, old *T, o Options)
	// unused are the paths of parts of the object that no child is made from.
	unused func(*T, Options) []string
}

func (k kind[T]) found(object *T, o Options) *rule.Report {
	out := &rule.Report{}
	k.check(out, object, o)
	return out
}

func checksOf[T any, P interface {
	*T
	Object
}](name string, setDefaults func(P), k kind[T]) Checks {
	// A nil interface becomes a nil pointer, and that an empty object.
	typed := func(object Object) P {
		if p, ok := object.(P); ok && p != nil || object != nil && !ok {
			return object.(P)
		}
		return new(T)
	}
	isNil := func(object Object) bool { p, ok := object.(P); return object == nil || ok && p == nil }
	at := func(object P, o Options) situation {
		return situation{options: o, elsewhere: ManagedElsewhere(object), unused: k.unused(object, o)}
	}
	create := func(object Object, o Options) Verdict {
		p := typed(object)
		return at(p, o).verdict(k.found(p, o))
	}
	return Checks{
		Kind:        name,
		New:         func() Object { return P(new(T)) },
		SetDefaults: func(object Object) { setDefaults(object.(P)) },
		Create:      create,
		Update: func(object, old Object, o Options) Verdict {
			if isNil(object) || isNil(old) {
				return create(object, o)
			}
			p, was := typed(object), typed(old)
			if exempt(object, old, k.spec(p), k.spec(was)) {
				return Verdict{}
			}
			found := k.found(p, o)
			k.transition(found, p, was, o)
			v := at(p, o).verdict(found)
			var known field.ErrorList
			v.Errors, known = ratchet(v.Errors, func() field.ErrorList { return k.found(was, o).Problems }, object, old, k.roots)
			v.Warnings = append(v.Warnings, known...)
			return v
		},
		Status: func(object Object, _ Options) field.ErrorList {
			if k.status == nil || isNil(object) {
				return nil
			}
			out := &rule.Report{}
			k.status(out, typed(object))
			return out.Problems
		},
	}
}
