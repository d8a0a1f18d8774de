package validation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Object is a pointer to an object of one of the kinds that this package knows.
type Object interface {
	metav1.Object
	runtime.Object
}

// Verdict is all that there is to say about an object.
type Verdict struct {
	// Errors refuse the object, or the update.
	Errors field.ErrorList
	// Warnings tell and let pass. Those of an update include the errors that the old object had in the same way.
	Warnings field.ErrorList
}

// Checks are the entry points of one kind, for callers that do not know the kind until an object arrives. Objects of
// another kind than Kind are a fault of the program and panic; nil objects are fine.
type Checks struct {
	// Kind is the name, as in RayCluster.
	Kind string
	// New returns an empty object.
	New func() Object
	// SetDefaults fills what the schema of the CRD fills.
	SetDefaults func(Object)
	// Create is the verdict on an object that is being created, or stands alone.
	Create func(object Object, o Options) Verdict
	// Update is the verdict on a change of an object. A nil old object makes it Create.
	Update func(object, old Object, o Options) Verdict
	// Status returns the errors in the status alone, for callers that write it.
	Status func(object Object, o Options) field.ErrorList
}

// For returns the checks for the kind of the object. It reports false for kinds that this package does not know.
func For(object runtime.Object) (Checks, bool) {
	switch object.(type) {
	case *rayv1.RayCluster:
		return clusterChecks, true
	case *rayv1.RayJob:
		return jobChecks, true
	case *rayv1.RayService:
		return serviceChecks, true
	case *rayv1.RayCronJob:
		return cronJobChecks, true
	}
	return Checks{}, false
}

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
	clusterChecks = checksOf("RayCluster", clusterRules, func() *rayv1.RayCluster { return &rayv1.RayCluster{} }, rayv1.SetRayClusterDefaults)
	jobChecks     = checksOf("RayJob", jobRules, func() *rayv1.RayJob { return &rayv1.RayJob{} }, rayv1.SetRayJobDefaults)
	serviceChecks = checksOf("RayService", serviceRules, func() *rayv1.RayService { return &rayv1.RayService{} }, rayv1.SetRayServiceDefaults)
	cronJobChecks = checksOf("RayCronJob", cronJobRules, func() *rayv1.RayCronJob { return &rayv1.RayCronJob{} }, rayv1.SetRayCronJobDefaults)
)

func checksOf[T any, P interface {
	*T
	Object
}](kind string, rules *kindRules[T], newObject func() P, setDefaults func(P)) Checks {
	// A nil interface becomes a nil pointer, which the entry points take.
	typed := func(object Object) *T {
		if object == nil {
			return nil
		}
		return object.(P)
	}
	return Checks{
		Kind:        kind,
		New:         func() Object { return newObject() },
		SetDefaults: func(object Object) { setDefaults(typed(object)) },
		Create:      func(object Object, o Options) Verdict { return rules.create(typed(object), o) },
		Update: func(object, old Object, o Options) Verdict {
			return rules.update(typed(object), typed(old), o)
		},
		Status: func(object Object, o Options) field.ErrorList { return rules.checkStatus(typed(object), o) },
	}
}

// kindRules are the rules of one kind, by when they apply. Functions get objects that are not nil.
type kindRules[T any] struct {
	// meta and spec take an object apart.
	meta func(*T) *metav1.ObjectMeta
	spec func(*T) any
	// roots are the places in the object that rules are about.
	roots ruleRoots
	// problems and advice look at one object, status at its status alone. The problems include those of the status. What is
	// an error among them the tiers of the rules say; advice never is.
	problems, advice, status func(*T, Options) field.ErrorList
	// transitions are problems in the way from the old object to the new one. They are never ratcheted.
	transitions func(object, old *T, o Options) field.ErrorList
	// changes are warnings about that way.
	changes func(object, old *T, o Options) field.ErrorList
	// unused are the paths of parts of the object that no child is made from. Nil means none.
	unused func(*T, Options) []string
	// object makes the interface of the pointer.
	object func(*T) Object
}

func (k *kindRules[T]) situation(object *T, o Options) situation {
	s := situation{options: o, elsewhere: ManagedElsewhere(k.object(object))}
	if k.unused != nil {
		s.unused = k.unused(object, o)
	}
	return s
}

// create gives the verdict on an object alone. A nil object counts as an empty one.
func (k *kindRules[T]) create(object *T, o Options) Verdict {
	if object == nil {
		object = new(T)
	}
	return k.situation(object, o).verdict(found{problems: k.problems(object, o), advice: k.advice(object, o)})
}

func (k *kindRules[T]) checkStatus(object *T, o Options) field.ErrorList {
	if object == nil {
		return nil
	}
	return k.status(object, o)
}

// update gives the verdict on a change. What was wrong in the same way before passes with a warning, so that a new rule
// never blocks the autoscaler or a finalizer on a stored object.
func (k *kindRules[T]) update(object, old *T, o Options) Verdict {
	if object == nil || old == nil {
		return k.create(object, o)
	}
	if k.exempt(object, old) {
		return Verdict{}
	}
	v := k.situation(object, o).verdict(found{
		problems: append(k.problems(object, o), k.transitions(object, old, o)...), advice: k.advice(object, o),
	})
	var known field.ErrorList
	v.Errors, known = ratchet(v.Errors, func() field.ErrorList { return k.problems(old, o) }, object, old, k.roots)
	v.Warnings = append(v.Warnings, known...)
	v.Warnings = append(v.Warnings, k.changes(object, old, o)...)
	return v
}
