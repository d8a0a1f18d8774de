package convert_test

import (
	"math/rand"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/clients/go/convert"
)

// random returns an object of a kind with any field of Ray and Kubernetes set, in the form the API server gives: canonical
// quantities, times of whole seconds, no nulls in lists and maps. The chance is that of a pointer, list or map to be nil.
func random(kind modelled, seed int64, nilChance float64, most int) convert.Object {
	least := 0
	if nilChance == 0 {
		least = 1
	}
	f := randfill.New().RandSource(rand.NewSource(seed)).NilChance(nilChance).NumElements(least, most).MaxDepth(40).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse(strconv.Itoa(1+c.Intn(2000)) + []string{"", "m", "Gi", "M"}[c.Intn(4)])
		},
		func(t *metav1.Time, c randfill.Continue) {
			*t = metav1.Time{Time: time.Unix(1+c.Int63n(4e9), 0)}
		},
		func(i *intstr.IntOrString, c randfill.Continue) {
			if *i = intstr.FromInt32(c.Int31()); c.Bool() {
				*i = intstr.FromString(c.String(10))
			}
		},
		func(n *int64, c randfill.Continue) {
			*n = c.Int63n(1<<54+1) - 1<<53 // what a Struct keeps as a number
		},
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			c.FillNoCustom(m)
			m.ManagedFields = nil
			m.SelfLink = "" //nolint:staticcheck // the random value has to go
			if nilChance == 0 {
				return
			}
			m.GenerateName = "" // an absent string, for a change
		},
		func(s *rayv1.RayClusterStatus, c randfill.Continue) {
			c.FillNoCustom(s)
			for state, t := range s.StateTransitionTimes {
				if t == nil {
					delete(s.StateTransitionTimes, state)
				}
			}
		},
	)
	object := kind.object()
	f.Fill(object)
	object.GetObjectKind().SetGroupVersionKind(rayv1.GroupVersion.WithKind(kind.name))
	return object
}
