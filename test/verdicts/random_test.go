package verdicts

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
)

// allGates is an operator that allows everything: the API server does not know gates.
func allGates() validation.Options {
	gates := map[validation.Gate]bool{}
	for _, g := range []validation.Gate{
		validation.GateNetworkPolicy, validation.GateMTLS, validation.GateHistoryServer, validation.GateEmbeddedGCSStorage,
	} {
		gates[g] = true
	}
	return validation.Options{Gates: gates}
}

// createDifferences asks both about an object that is being created.
func createDifferences(t testing.TB, object validation.Object, o validation.Options) (diffs []string, refused bool) {
	t.Helper()
	object = decoded(object)
	checks, _ := validation.For(object)
	plural := pluralOf(checks.Kind)
	u := asUnstructured(object)
	delete(u.Object, "status")
	verdict := checks.Create(object, o).Errors
	if slices.ContainsFunc(verdict, func(e *field.Error) bool { return strings.HasSuffix(e.Origin, "-581") }) {
		delete(u.Object, "spec") // Go knows no difference between none and an empty one
	}
	_, err := resourceOf(plural).Create(t.Context(), u, dryCreate)
	got := answerOf(err)
	if got.failure != "" {
		t.Errorf("the API server did not answer with a verdict: %s", got.failure)
	}
	return compare(plural, got.errors, verdict, verdict), len(got.errors) > 0
}

// TestRandomObjectsAgainstCRDs makes objects wrong in several ways at once and asks both.
func TestRandomObjectsAgainstCRDs(t *testing.T) {
	needLab(t)
	const objects, seed = 500, 20261121
	var refusals atomic.Int64
	var mu sync.Mutex
	shown := 0
	_ = forEach(objects, func(i int) error {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		object := randomObject(rng)
		diffs, refused := createDifferences(t, object, allGates())
		if refused {
			refusals.Add(1)
		}
		if len(diffs) == 0 {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		t.Fail()
		if shown++; shown <= 10 {
			raw, _ := json.Marshal(object)
			t.Logf("object %d: %s\n%s", i, strings.Join(diffs, "\n"), raw)
		}
		return nil
	})
	if n := refusals.Load(); n < objects/4 || n > objects*19/20 {
		t.Errorf("%d of %d objects were refused; want a mixture, or the test says little", n, objects)
	}
	t.Logf("%d of %d objects were refused", refusals.Load(), objects)
}

// randomObject is a broken cluster, alone or inside another object.
func randomObject(rng *rand.Rand) validation.Object {
	rc := randomCluster(rng)
	switch rng.IntN(6) {
	case 0:
		rj := examples.BaseJob()
		rj.Spec.RayClusterSpec = &rc.Spec
		return rj
	case 1:
		rs := examples.BaseService()
		rs.Spec.RayClusterSpec = rc.Spec
		return rs
	case 2:
		cj := examples.BaseCronJob()
		cj.Spec.JobTemplate.RayClusterSpec = &rc.Spec
		return cj
	}
	return rc
}

// words are values at or beyond the edge of some rule.
var words = []string{
	"", "a", "A", "a-b", "a_b", "-a", "a.", "a.b", "headgroup", "ray-tls", "gcs-storage", "autoscaler", "ray-history-collector",
	"2.9", "2.52.0", "v2.54.1rc1", "2.55", "2.56.0-py310", "3.0.0", "nightly", "02.60", "2.056", " 2.60", "2.", "2", "1.99.99",
	"/", "/data/gcs", "/etc/ray/tls", "a/../b", "..", "1.2.3.4", "*.example.com", "ray.example.com", "Ray.example.com",
	"token", "v1", "v2", "rocksdb", "redis", "true", "1", "0", "ClusterIP", "Never", "Always", "ReadWriteOnce", "ReadWriteOncePod",
	"DenyAll", "DenyAllEgress", "S3", "gcs", "AzureBlob", "connection_string",
	strings.Repeat("a", 57), strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("b", 254),
}

var numbers = []int64{-2147483648, -1, 0, 1, 2, 5, 65536, 2147483647}

// randomCluster breaks a valid cluster by some of the examples, by some fields at random, or not at all.
func randomCluster(rng *rand.Rand) *rayv1.RayCluster {
	rc := examples.Base()
	if rng.IntN(2) == 0 {
		g := rc.Spec.WorkerGroupSpecs[0].DeepCopy()
		g.GroupName = "second"
		rc.Spec.WorkerGroupSpecs = append(rc.Spec.WorkerGroupSpecs, *g)
	}
	all := examples.Of("RayCluster")
	for range rng.IntN(2) {
		e := all[rng.IntN(len(all))]
		if !e.Update && !e.GoOnly && e.ID != "RC-584" && e.ID != "RC-585" { // those two are large
			rc = e.Object().(*rayv1.RayCluster)
		}
	}
	for range rng.IntN(4) {
		mutate(rng, reflect.ValueOf(&rc.Spec).Elem(), 0)
	}
	return rc
}

// mutate walks down to a random field and gives it a random value.
func mutate(rng *rand.Rand, v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case resource.Quantity, intstr.IntOrString, metav1.Time, corev1.ResourceList:
		return // their JSON has rules of its own
	case corev1.PodSpec:
		// Of a Pod only what rules look at; the rest is Kubernetes' own.
		names := []string{"Containers", "RestartPolicy", "Volumes"}
		mutate(rng, v.FieldByName(names[rng.IntN(len(names))]), depth+1)
		return
	case corev1.Container:
		names := []string{"Name", "Env", "VolumeMounts"}
		mutate(rng, v.FieldByName(names[rng.IntN(len(names))]), depth+1)
		return
	case corev1.Volume:
		mutate(rng, v.FieldByName("Name"), depth+1)
		return
	case metav1.ObjectMeta, corev1.SecurityContext, corev1.EnvVarSource, corev1.ServiceSpec, corev1.ServiceStatus, corev1.EnvFromSource:
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || rng.IntN(8) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
		}
		mutate(rng, v.Elem(), depth+1)
	case reflect.Struct:
		if v.NumField() > 0 {
			mutate(rng, v.Field(rng.IntN(v.NumField())), depth+1)
		}
	case reflect.Slice:
		if v.Len() == 0 || rng.IntN(6) == 0 {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		}
		mutate(rng, v.Index(rng.IntN(v.Len())), depth+1)
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		if v.Type().Elem().Kind() == reflect.String {
			v.SetMapIndex(word(rng, v.Type().Key()), word(rng, v.Type().Elem()))
		}
	case reflect.String:
		v.Set(word(rng, v.Type()))
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt(numbers[rng.IntN(len(numbers))])
	}
}

func word(rng *rand.Rand, t reflect.Type) reflect.Value {
	return reflect.ValueOf(words[rng.IntN(len(words))]).Convert(t)
}
