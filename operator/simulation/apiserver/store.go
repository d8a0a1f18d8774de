package apiserver

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Change is one change of an object. Old is nil for a created object, New for a deleted one. Neither may be modified.
type Change struct {
	Kind schema.GroupKind
	// Actor made the change.
	Actor    string
	Old, New client.Object
}

// Object returns New, or Old for a deleted object.
func (c Change) Object() client.Object {
	if c.New != nil {
		return c.New
	}
	return c.Old
}

// Store keeps the objects. Its methods are safe for concurrent use.
type Store struct {
	scheme *runtime.Scheme
	now    func() time.Time

	mu       sync.Mutex
	version  int64
	kinds    map[schema.GroupKind]map[types.NamespacedName]client.Object
	counters map[string]int
	watchers []func(Change)
}

// NewStore returns an empty store.
func NewStore(scheme *runtime.Scheme, now func() time.Time) *Store {
	return &Store{scheme: scheme, now: now, kinds: map[schema.GroupKind]map[types.NamespacedName]client.Object{}, counters: map[string]int{}}
}

// Watch calls f with each later change, in order. f must not call the store.
func (s *Store) Watch(f func(Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, f)
}

var kindOf sync.Map // schema.GroupKind by reflect.Type

func (s *Store) kind(o runtime.Object) schema.GroupKind {
	switch o.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		gk := o.GetObjectKind().GroupVersionKind().GroupKind()
		gk.Kind = strings.TrimSuffix(gk.Kind, "List")
		return gk
	}
	t := reflect.TypeOf(o)
	if known, ok := kindOf.Load(t); ok {
		return known.(schema.GroupKind)
	}
	kinds, _, err := s.scheme.ObjectKinds(o)
	if err != nil {
		panic(fmt.Sprintf("the scheme of the simulation lacks %T: %v", o, err))
	}
	gk := kinds[0].GroupKind()
	gk.Kind = strings.TrimSuffix(gk.Kind, "List")
	kindOf.Store(t, gk)
	return gk
}

func resource(gk schema.GroupKind) schema.GroupResource {
	return schema.GroupResource{Group: gk.Group, Resource: strings.ToLower(gk.Kind) + "s"}
}

// find returns a stored object. The caller holds the lock.
func (s *Store) find(gk schema.GroupKind, key types.NamespacedName) (client.Object, error) {
	if o := s.kinds[gk][key]; o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(resource(gk), key.Name)
}

// Find returns an object, or nil if there is none. It must not be modified.
func (s *Store) Find(gk schema.GroupKind, key types.NamespacedName) client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kinds[gk][key]
}

// All returns the objects of a kind, sorted by name. They must not be modified.
func (s *Store) All(gk schema.GroupKind) []client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all(gk)
}

func (s *Store) all(gk schema.GroupKind) []client.Object {
	list := make([]client.Object, 0, len(s.kinds[gk]))
	for _, o := range s.kinds[gk] {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b client.Object) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return list
}

// Kinds returns all kinds that ever had an object, sorted.
func (s *Store) Kinds() []schema.GroupKind {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]schema.GroupKind, 0, len(s.kinds))
	for gk := range s.kinds {
		list = append(list, gk)
	}
	slices.SortFunc(list, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	return list
}

// count returns the next number for a name. The caller holds the lock. Numbers of a name are independent of other names, so a
// history that lacks one step still produces the same names.
func (s *Store) count(name string) int {
	s.counters[name]++
	return s.counters[name]
}

// Create stores a new object and sets the fields that an API server sets.
func (s *Store) Create(actor string, o client.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	gk := s.kind(o)
	if o.GetName() == "" {
		o.SetName(o.GetGenerateName() + letters(s.count(o.GetNamespace()+"/"+o.GetGenerateName())))
	}
	key := client.ObjectKeyFromObject(o)
	if s.kinds[gk][key] != nil {
		return apierrors.NewAlreadyExists(resource(gk), o.GetName())
	}
	o.SetUID(types.UID(fmt.Sprintf("%s-%s-%d", strings.ToLower(gk.Kind), o.GetName(), s.count(gk.String()+key.String()))))
	o.SetCreationTimestamp(metav1.NewTime(s.now().Truncate(time.Second)))
	o.SetGeneration(1)
	o.SetDeletionTimestamp(nil)
	s.put(actor, gk, nil, o.DeepCopyObject().(client.Object))
	o.SetResourceVersion(strconv.FormatInt(s.version, 10))
	return nil
}

// letters returns a suffix like that of generated names.
func letters(n int) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	out := []byte("bbbbb")
	for i := len(out) - 1; n > 0 && i >= 0; i-- {
		out[i] = alphabet[n%len(alphabet)]
		n /= len(alphabet)
	}
	return string(out)
}

// put stores the next version of an object and notifies the watchers. The caller holds the lock. A nil next removes the object.
func (s *Store) put(actor string, gk schema.GroupKind, old, next client.Object) {
	s.version++
	if next != nil {
		next.SetResourceVersion(strconv.FormatInt(s.version, 10))
		if s.kinds[gk] == nil {
			s.kinds[gk] = map[types.NamespacedName]client.Object{}
		}
		s.kinds[gk][client.ObjectKeyFromObject(next)] = next
	} else {
		delete(s.kinds[gk], client.ObjectKeyFromObject(old))
	}
	for _, w := range s.watchers {
		w(Change{Kind: gk, Actor: actor, Old: old, New: next})
	}
}

// Mutate changes an object regardless of its version, for actors that are not under test. It reports whether the object existed.
func (s *Store) Mutate(actor string, gk schema.GroupKind, key types.NamespacedName, change func(client.Object)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.kinds[gk][key]
	if old == nil {
		return false
	}
	next := old.DeepCopyObject().(client.Object)
	change(next)
	s.replace(actor, gk, old, next)
	return true
}

// update implements Update, Patch and their status variants. The caller holds the lock.
func (s *Store) update(actor string, gk schema.GroupKind, o client.Object, status bool) error {
	old, err := s.find(gk, client.ObjectKeyFromObject(o))
	if err != nil {
		return err
	}
	if rv := o.GetResourceVersion(); rv != "" && rv != old.GetResourceVersion() {
		return apierrors.NewConflict(resource(gk), o.GetName(),
			fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if uid := o.GetUID(); uid != "" && uid != old.GetUID() {
		return apierrors.NewConflict(resource(gk), o.GetName(), fmt.Errorf("precondition failed: UID in precondition: %v, UID in object meta: %v", uid, old.GetUID()))
	}
	next := o.DeepCopyObject().(client.Object)
	switch {
	case status:
		next = withStatus(old, next)
	case hasStatus(next):
		next = withStatus(next, old)
	}
	if !status {
		next.SetUID(old.GetUID())
		next.SetCreationTimestamp(old.GetCreationTimestamp())
		next.SetDeletionTimestamp(old.GetDeletionTimestamp())
		next.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
	stored := s.replace(actor, gk, old, next)
	assign(o, stored)
	return nil
}

// replace stores next unless nothing changed, and removes a deleted object without finalizers.
func (s *Store) replace(actor string, gk schema.GroupKind, old, next client.Object) client.Object {
	truncate(next)
	next.SetResourceVersion(old.GetResourceVersion())
	next.SetGeneration(old.GetGeneration())
	if !sameSpec(old, next) {
		next.SetGeneration(old.GetGeneration() + 1)
	}
	if equality.Semantic.DeepEqual(old, next) {
		return old
	}
	if next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 && !lingers(next) {
		s.put(actor, gk, old, nil)
		return next
	}
	s.put(actor, gk, old, next)
	return next
}

// meets reports whether an object is the one that the preconditions are about; nil means any.
func meets(o client.Object, p *metav1.Preconditions) bool {
	return p == nil || (p.UID == nil || *p.UID == o.GetUID()) && (p.ResourceVersion == nil || *p.ResourceVersion == o.GetResourceVersion())
}

// Delete deletes an object at once. Objects with finalizers and Pods on a node only get a deletion timestamp.
func (s *Store) Delete(actor string, o client.Object, opts client.DeleteOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	gk := s.kind(o)
	old, err := s.find(gk, client.ObjectKeyFromObject(o))
	if err != nil {
		return err
	}
	if !meets(old, opts.Preconditions) {
		return apierrors.NewConflict(resource(gk), o.GetName(), errors.New("precondition failed"))
	}
	next := old.DeepCopyObject().(client.Object)
	if ptr.Deref(opts.PropagationPolicy, "") == metav1.DeletePropagationForeground && !slices.Contains(next.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		next.SetFinalizers(append(next.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
	if old.GetDeletionTimestamp() == nil {
		next.SetDeletionTimestamp(new(metav1.NewTime(s.now().Truncate(time.Second))))
		next.SetGeneration(old.GetGeneration() + 1)
	}
	if g := opts.GracePeriodSeconds; g != nil && ptr.Deref(old.GetDeletionGracePeriodSeconds(), *g+1) > *g {
		next.SetDeletionGracePeriodSeconds(g)
	}
	now := ptr.Deref(opts.GracePeriodSeconds, 1) == 0
	if len(next.GetFinalizers()) == 0 && (now || !lingers(next)) {
		s.put(actor, gk, old, nil)
		return nil
	}
	if equality.Semantic.DeepEqual(old, next) {
		return nil
	}
	s.put(actor, gk, old, next)
	return nil
}

// Remove removes an object regardless of finalizers, as a kubelet does with a Pod.
func (s *Store) Remove(actor string, gk schema.GroupKind, key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.kinds[gk][key]; old != nil {
		s.put(actor, gk, old, nil)
	}
}
