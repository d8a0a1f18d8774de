package apiserver

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Collect runs one round of the garbage collector: it deletes objects whose owners are all gone and continues foreground
// deletions. It reports whether it changed anything; then another round may find more.
func (s *Store) Collect() bool {
	const actor = "garbage-collector"
	var all []client.Object
	for _, gk := range s.Kinds() {
		all = append(all, s.All(gk)...)
	}
	owners, did := ownersIn(all), false
	for _, o := range all {
		if owners.leave(o) && o.GetDeletionTimestamp() == nil {
			did = s.Delete(actor, o, client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(o.GetUID())}}) == nil || did
		}
	}
	for _, o := range all {
		if uid := o.GetUID(); owners.deleting[uid] && !owners.blocked[uid] {
			did = s.Mutate(actor, s.kind(o), client.ObjectKeyFromObject(o), func(next client.Object) {
				next.SetFinalizers(slices.DeleteFunc(slices.Clone(next.GetFinalizers()), func(f string) bool { return f == metav1.FinalizerDeleteDependents }))
			}) || did
		}
	}
	return did
}

// owners are the objects of a round by their UID: those that exist, those of foreground deletions, and those that wait for a dependent.
type owners struct{ alive, deleting, blocked map[types.UID]bool }

func ownersIn(all []client.Object) owners {
	w := owners{map[types.UID]bool{}, map[types.UID]bool{}, map[types.UID]bool{}}
	for _, o := range all {
		w.alive[o.GetUID()] = true
		w.deleting[o.GetUID()] = o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents)
		for _, r := range o.GetOwnerReferences() {
			w.blocked[r.UID] = w.blocked[r.UID] || ptr.Deref(r.BlockOwnerDeletion, false)
		}
	}
	return w
}

// leave reports whether an object had owners and none of them stays.
func (w owners) leave(o client.Object) bool {
	refs := o.GetOwnerReferences()
	return len(refs) > 0 && !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return w.alive[r.UID] && !w.deleting[r.UID] })
}
