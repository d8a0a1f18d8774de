package validation_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

// TestOneExtremeValueAnywhere puts every extreme value into every field of a full object, one at a time, and asks for all
// verdicts. No rule may panic or speak of no place. A cluster is tried in a RayCluster, the spec of a job in a
// RayJob: within others the same functions read them.
func TestOneExtremeValueAnywhere(t *testing.T) {
	for kind, base := range bases() {
		t.Run(kind, func(t *testing.T) {
			checks, _ := validation.ForKind(kind)
			object, old, o := base(), base(), everything()
			o.RequestVersion = "" // a comparison of JSON, slow and blind to values
			within := map[string]reflect.Type{"RayJob": reflect.TypeFor[rayv1.RayClusterSpec](), "RayService": reflect.TypeFor[rayv1.RayClusterSpec](), "RayCronJob": reflect.TypeFor[rayv1.RayJobSpec]()}
			fill(reflect.ValueOf(object).Elem(), 0)
			verdicts, where := 0, ""
			defer func() {
				if r := recover(); r != nil {
					t.Fatalf("%s: %v", where, r)
				}
			}()
			everywhere(reflect.ValueOf(object).Elem(), kind, within[kind], func(path string) {
				where = path
				for _, v := range []validation.Verdict{checks.Create(object, o), checks.Update(object, old, o), checks.Update(old, object, o)} {
					for _, err := range append(v.Errors, v.Warnings...) {
						if err.Field == "" || err.Field == "<nil>" || len(err.ErrorBody()) > 2000 {
							t.Errorf("%s: a problem at %q has %d characters", path, err.Field, len(err.ErrorBody()))
						}
					}
				}
				checks.Status(object, o)
				verdicts++
			})
			if verdicts < 100 {
				t.Errorf("only %d extremes were tried", verdicts)
			}
		})
	}
}

// unread are types that no rule looks into.
var unread = map[reflect.Type]bool{
	reflect.TypeFor[corev1.VolumeSource](): true, reflect.TypeFor[corev1.Affinity](): true, reflect.TypeFor[corev1.Probe](): true,
	reflect.TypeFor[corev1.Lifecycle](): true, reflect.TypeFor[corev1.SecurityContext](): true, reflect.TypeFor[corev1.PodSecurityContext](): true,
	reflect.TypeFor[corev1.EphemeralContainer](): true, reflect.TypeFor[metav1.ManagedFieldsEntry](): true, reflect.TypeFor[metav1.FieldsV1](): true,
}

// fill gives every field something, so that there is a place to put extremes.
func fill(v reflect.Value, depth int) {
	if depth > 20 || unread[v.Type()] || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		if v.Len() == 0 && v.Type().Key().Kind() == reflect.String {
			item := reflect.New(v.Type().Elem()).Elem()
			fill(item, depth+1)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), item)
		}
	case reflect.Struct:
		for _, f := range v.Fields() {
			fill(f, depth+1)
		}
	case reflect.String:
		if v.Len() == 0 {
			v.SetString("x")
		}
	}
}

var hostileTexts = []string{"", strings.Repeat("9", 5000), "a]b.c[0]['\x00\xff", "../[1e999"}

// extremes are the values to put into a field of the type.
func extremes(t reflect.Type) []reflect.Value {
	var values []any
	switch t.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		values = []any{0, -1, math.MaxInt32, math.MinInt32}
	case reflect.Float32, reflect.Float64:
		values = []any{-1.0, math.MaxFloat32}
	case reflect.Bool:
		values = []any{true, false}
	case reflect.String:
		for _, text := range hostileTexts {
			values = append(values, text)
		}
	case reflect.Pointer:
		return []reflect.Value{reflect.Zero(t), reflect.New(t.Elem())}
	case reflect.Slice:
		return []reflect.Value{reflect.Zero(t), reflect.MakeSlice(t, 0, 0), reflect.MakeSlice(t, 3, 3)}
	case reflect.Map:
		list := []reflect.Value{reflect.Zero(t), reflect.MakeMap(t)}
		for _, text := range hostileTexts {
			m := reflect.MakeMap(t)
			m.SetMapIndex(reflect.ValueOf(text).Convert(t.Key()), reflect.Zero(t.Elem()))
			list = append(list, m)
		}
		return list
	case reflect.Struct:
		if t == reflect.TypeFor[resource.Quantity]() {
			values = []any{resource.Quantity{}, resource.MustParse("-1n"), resource.MustParse("1e999"), resource.MustParse("9223372036854775807E")}
		} else {
			return []reflect.Value{reflect.Zero(t)}
		}
	}
	list := make([]reflect.Value, len(values))
	for i, value := range values {
		list[i] = reflect.ValueOf(value).Convert(t)
	}
	return list
}

// everywhere calls visit for each extreme in each place outside of a type, and puts back what was there.
func everywhere(v reflect.Value, path string, not reflect.Type, visit func(path string)) {
	if !v.CanSet() && v.Kind() != reflect.Struct || unread[v.Type()] || v.Type() == not {
		return
	}
	if v.CanSet() {
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		for i, extreme := range extremes(v.Type()) {
			v.Set(extreme)
			visit(fmt.Sprintf("%s (extreme %d)", path, i))
		}
		v.Set(was)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			everywhere(v.Elem(), path, not, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			everywhere(v.Index(i), fmt.Sprintf("%s[%d]", path, i), not, visit)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			was, item := v.MapIndex(key), reflect.New(v.Type().Elem()).Elem()
			item.Set(was)
			for i, extreme := range extremes(item.Type()) {
				v.SetMapIndex(key, extreme)
				visit(fmt.Sprintf("%s[%s] (extreme %d)", path, key, i))
			}
			v.SetMapIndex(key, was)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[resource.Quantity]() || v.Type() == reflect.TypeFor[metav1.Time]() {
			return
		}
		for i := range v.NumField() {
			everywhere(v.Field(i), path+"."+v.Type().Field(i).Name, not, visit)
		}
	}
}
