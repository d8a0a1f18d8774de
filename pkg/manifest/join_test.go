package manifest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/manifest"
	"github.com/raygate/raygate/pkg/manifest/problem"
)

func TestJoin(t *testing.T) {
	wrong := func(path string) *field.Error { return &field.Error{Type: field.ErrorTypeInvalid, Field: path} }
	missing := func(path string) *field.Error { return &field.Error{Type: field.ErrorTypeRequired, Field: path} }
	unknown := func(path string) *field.Error {
		return &field.Error{Type: field.ErrorTypeInvalid, Field: path, Origin: problem.UnknownField}
	}
	cases := map[string]struct {
		form, content *field.Error
		follows       bool
	}{
		"the same place":                   {wrong("spec.a"), wrong("spec.a"), true},
		"below it":                         {wrong("spec.a"), wrong("spec.a[0].b"), true},
		"another with the same beginning":  {wrong("spec.a"), wrong("spec.ab"), false},
		"above it":                         {wrong("spec.a.b"), wrong("spec.a"), false},
		"what contains it is missing":      {wrong("spec.a.b"), missing("spec.a"), true},
		"another is missing":               {wrong("spec.a.b"), missing("spec.a.c"), false},
		"it may be misspelt":               {unknown("spec.a.bb"), missing("spec.a.b"), true},
		"it may be misspelt, deeper":       {unknown("spec.a"), missing("spec.b.c"), true},
		"at the top":                       {unknown("spce"), missing("spec.a"), true},
		"misspelt elsewhere":               {unknown("spec.a.bb"), missing("spec.b"), false},
		"what is wrong is no misspelt one": {unknown("spec.a.bb"), wrong("spec.a.b"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := field.ErrorList{tc.form, tc.content}
			if tc.follows {
				want = want[:1]
			}
			if diff := cmp.Diff(want, manifest.Join(field.ErrorList{tc.form}, field.ErrorList{tc.content})); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func BenchmarkJoin(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000} {
		var form, content field.ErrorList
		for i := range n {
			form = append(form, &field.Error{Type: field.ErrorTypeInvalid, Field: fmt.Sprintf("spec.workerGroupSpecs[%d].template", i)})
			content = append(content, &field.Error{Type: field.ErrorTypeRequired, Field: fmt.Sprintf("spec.workerGroupSpecs[%d].groupName", i)})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				manifest.Join(form, content)
			}
		})
	}
}
