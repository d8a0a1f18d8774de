package admission

import (
	"math/rand/v2"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/examples"
)

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
		change(rng, reflect.ValueOf(&rc.Spec).Elem(), 0)
	}
	return rc
}

// change walks down to a random field and gives it a random value.
func change(rng *rand.Rand, v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case resource.Quantity, intstr.IntOrString, metav1.Time, corev1.ResourceList:
		return // their JSON has rules of its own
	case corev1.PodSpec:
		// Of a Pod only what rules look at; the rest is Kubernetes' own.
		names := []string{"Containers", "RestartPolicy", "Volumes"}
		change(rng, v.FieldByName(names[rng.IntN(len(names))]), depth+1)
		return
	case corev1.Container:
		names := []string{"Name", "Env", "VolumeMounts"}
		change(rng, v.FieldByName(names[rng.IntN(len(names))]), depth+1)
		return
	case corev1.Volume:
		change(rng, v.FieldByName("Name"), depth+1)
		return
	case metav1.ObjectMeta, corev1.SecurityContext, corev1.EnvVarSource, corev1.ServiceSpec, corev1.ServiceStatus, corev1.EnvFromSource:
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || rng.IntN(8) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
		}
		change(rng, v.Elem(), depth+1)
	case reflect.Struct:
		if v.NumField() > 0 {
			change(rng, v.Field(rng.IntN(v.NumField())), depth+1)
		}
	case reflect.Slice:
		if v.Len() == 0 || rng.IntN(6) == 0 {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		}
		change(rng, v.Index(rng.IntN(v.Len())), depth+1)
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
