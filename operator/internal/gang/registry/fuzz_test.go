package registry_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/randfill"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/gang/registry"
)

// FuzzSchedulers: whatever the cluster, no scheduler panics, changes the cluster, says one thing first and another later,
// or asks for something that cannot be sent.
func FuzzSchedulers(f *testing.F) {
	for seed := range int64(50) {
		f.Add(seed)
	}
	words := []string{"", "true", "a", "-1", "two", "[{", "headgroup", "RayJob", "é'\"$("}
	keys := []string{
		rayv1.LabelGangSchedulingEnabled, rayv1.LabelVolcanoQueueName, rayv1.LabelVolcanoNetworkTopologyMode, rayv1.LabelPriorityClassName,
		rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed, rayv1.LabelYuniKornAppID, rayv1.LabelYuniKornQueue, rayv1.LabelKAIQueue,
		rayv1.LabelOriginatedFromCRD, rayv1.LabelOriginatedFromCRName, rayv1.AnnotationYuniKornTaskGroups,
	}
	quantities := []string{"0", "-3", "500m", "1Gi", "9223372036854775807", "1e30", "1n"}
	numbers := []int32{-1 << 31, -1, 0, 1, 7, 1<<31 - 1}
	f.Fuzz(func(t *testing.T, seed int64) {
		rc := &rayv1.RayCluster{}
		randfill.NewWithSeed(seed).NilChance(0.5).NumElements(0, 3).Funcs(
			func(s *string, c randfill.Continue) { *s = words[c.Intn(len(words))] },
			func(n *int32, c randfill.Continue) { *n = numbers[c.Intn(len(numbers))] },
			func(m *map[string]string, c randfill.Continue) {
				*m = map[string]string{}
				for range c.Intn(len(keys)) {
					(*m)[keys[c.Intn(len(keys))]] = words[c.Intn(len(words))]
				}
			},
			func(q *resource.Quantity, c randfill.Continue) {
				*q = resource.MustParse(quantities[c.Intn(len(quantities))])
			},
		).Fill(rc)
		before := rc.DeepCopy()
		for _, s := range schedulers() {
			first, second := output(t, s, rc), output(t, s, rc)
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("%s says one thing first and another later:\n%s", s.Name(), diff)
			}
		}
		if diff := cmp.Diff(before, rc); diff != "" {
			t.Errorf("the cluster was changed:\n%s", diff)
		}
	})
}

func schedulers() []gang.Scheduler {
	all := []gang.Scheduler{registry.Kubernetes()}
	for _, name := range registry.Names() {
		all = append(all, registry.Find(name))
	}
	return all
}

// output is all that the scheduler wants of the cluster.
func output(t *testing.T, s gang.Scheduler, rc *rayv1.RayCluster) string {
	t.Helper()
	w := ofCluster(rc)
	plan := s.Plan(w)
	all := []any{plan.Problems, plan.Refusal}
	for _, o := range plan.Objects {
		if o.Absent {
			continue
		}
		for _, v := range o.Kind.Versions {
			all = append(all, o.Name, o.Labels, o.Annotations, o.Spec(v))
		}
	}
	for i := range w.Members {
		p := &corev1.Pod{}
		s.Decorate(w, w.Members[i].Name, &p.ObjectMeta, &p.Spec)
		if groups := p.Annotations[rayv1.AnnotationYuniKornTaskGroups]; groups != "" && groups != rc.Annotations[rayv1.AnnotationYuniKornTaskGroups] && !json.Valid([]byte(groups)) {
			t.Errorf("task groups are not JSON: %s", groups)
		}
		all = append(all, p)
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatalf("%s: %v", s.Name(), err)
	}
	return string(raw)
}
