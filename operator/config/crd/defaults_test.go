package crd_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// filler makes random objects that survive JSON: the few types with a private form get a value that they can print.
func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.4).NumElements(1, 2).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(1000), resource.DecimalSI)
		},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.NewTime(time.Unix(c.Int63n(1e9), 0).UTC()) },
		func(t *metav1.MicroTime, c randfill.Continue) {
			*t = metav1.NewMicroTime(time.Unix(c.Int63n(1e9), 0).UTC())
		},
		func(i *intstr.IntOrString, c randfill.Continue) { *i = intstr.FromInt32(c.Int31()) },
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawString("{}") },
		func(s *string, c randfill.Continue) {
			// Often empty, because that is what most defaults replace.
			if *s = ""; c.Bool() {
				*s = string(rune('a' + c.Intn(26)))
			}
		},
	)
}

// agree checks, on random objects, that set does to a Go object what the schema does to its JSON.
func agree[T any](t *testing.T, plural string, set func(*T)) {
	t.Helper()
	s := checkerFor(t, plural).structural
	for seed := range int64(50) {
		var in T
		filler(seed).Fill(&in)

		raw, err := json.Marshal(stored(s, toMap(t, in)))
		if err != nil {
			t.Fatal(err)
		}
		var want, got T
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("seed %d: decoding what the schema made: %v", seed, err)
		}

		// Both sides are compared as Go writes them, and without what a template cannot keep, such as most of its metadata.
		set(&in)
		kept := toMap(t, in)
		pruning.Prune(kept, s, true)
		if raw, err = json.Marshal(kept); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("seed %d: schema (-) and Go (+) differ:\n%s", seed, cmp.Diff(toMap(t, want), toMap(t, got)))
		}
	}
}

func TestDefaultsEqualSchema(t *testing.T) {
	t.Run("RayCluster", func(t *testing.T) { agree(t, "rayclusters", rayv1.SetRayClusterDefaults) })
	t.Run("RayJob", func(t *testing.T) { agree(t, "rayjobs", rayv1.SetRayJobDefaults) })
	t.Run("RayService", func(t *testing.T) { agree(t, "rayservices", rayv1.SetRayServiceDefaults) })
	t.Run("RayCronJob", func(t *testing.T) { agree(t, "raycronjobs", rayv1.SetRayCronJobDefaults) })
}

// FuzzSetRayClusterDefaults looks for JSON that makes defaulting panic, or change its own result.
func FuzzSetRayClusterDefaults(f *testing.F) {
	f.Add([]byte(`{"spec":{"workerGroupSpecs":[{"groupName":"g"}],"networkPolicy":{}}}`))
	for seed := range int64(5) {
		var rc rayv1.RayCluster
		filler(seed).Fill(&rc)
		raw, err := json.Marshal(rc)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var once rayv1.RayCluster
		if json.Unmarshal(raw, &once) != nil {
			return
		}
		rayv1.SetRayClusterDefaults(&once)
		again := once.DeepCopy()
		rayv1.SetRayClusterDefaults(again)
		if diff := cmp.Diff(&once, again); diff != "" {
			t.Errorf("defaulting again changes the object:\n%s", diff)
		}
	})
}
