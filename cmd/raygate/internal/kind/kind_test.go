package kind

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRefs(t *testing.T) {
	tests := map[string]struct {
		want  []string
		wrong string
	}{
		"raycluster":              {want: []string{"raycluster/"}},
		"clusters a b":            {want: []string{"raycluster/a", "raycluster/b"}},
		"CLUSTER/a job/b":         {want: []string{"raycluster/a", "rayjob/b"}},
		"jobs,services":           {want: []string{"rayjob/", "rayservice/"}},
		"rayservices.ray.io x":    {want: []string{"rayservice/x"}},
		"all":                     {want: []string{"raycluster/", "rayjob/", "rayservice/", "raycronjob/"}},
		"":                        {wrong: "name a type"},
		"pods":                    {wrong: `unknown type "pods": use rayclusters, rayjobs, rayservices, raycronjobs`},
		"clusters,":               {wrong: `unknown type ""`},
		"clusters a job/b":        {wrong: "not both in one command"},
		"cluster/a b":             {wrong: `"b" is not TYPE/NAME`},
		"cluster/a/b":             {wrong: "is not TYPE/NAME"},
		"cluster/":                {wrong: "is not TYPE/NAME"},
		"pod/a":                   {wrong: `unknown type "pod"`},
		"cronjob/a raycronjobs/b": {want: []string{"raycronjob/a", "raycronjob/b"}},
	}
	for args, tc := range tests {
		refs, err := ParseRefs(strings.Fields(args))
		var got []string
		for _, r := range refs {
			got = append(got, r.String())
		}
		if tc.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%q: %v, want %q", args, err, tc.wrong)
			}
			continue
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", args, err, diff)
		}
	}
}

// FuzzParseRefs: nothing that is typed ends the program.
func FuzzParseRefs(f *testing.F) {
	f.Add("cluster/a,b c/")
	f.Fuzz(func(t *testing.T, text string) {
		refs, err := ParseRefs(strings.Split(text, " "))
		if err == nil && len(refs) == 0 {
			t.Error("neither objects nor an error")
		}
	})
}
