package submit

import (
	"strings"
	"testing"
)

func TestLabelsAreRefused(t *testing.T) {
	tests := map[string]struct {
		change func(*Options)
		want   []string
	}{
		"queue":            {func(o *Options) { o.Queue = "Team A" }, []string{"--queue", `"Team A"`, "give the name of a LocalQueue"}},
		"a long queue":     {func(o *Options) { o.Queue = strings.Repeat("a", 64) }, []string{"--queue", "63", "LocalQueue"}},
		"priority class":   {func(o *Options) { o.PriorityClass = "-1" }, []string{"--priority-class", `"-1"`, "WorkloadPriorityClass"}},
		"key of a label":   {func(o *Options) { o.Labels = map[string]string{"a b": "c"} }, []string{"--label", `"a b"`, "KEY=VALUE"}},
		"value of a label": {func(o *Options) { o.Labels = map[string]string{"a": "b c"} }, []string{"--label", `"b c"`, "KEY=VALUE"}},
		"two names of one": {func(o *Options) { o.Queue, o.Labels = "a", map[string]string{"kueue.x-k8s.io/queue-name": "b"} }, []string{"--queue", `"a"`, `"b"`, "one of the two"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := options()
			tc.change(&o)
			_, err := o.RayJob()
			if err == nil {
				t.Fatal("was accepted")
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
		})
	}
}
