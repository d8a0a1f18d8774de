package filter

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var object = map[string]any{
	"metadata": map[string]any{"name": "exp-1", "namespace": "team", "labels": map[string]any{"app.kubernetes.io/name": "x", "tier": "web"}},
	"spec": map[string]any{"suspend": true, "rayVersion": "2.46.0", "workerGroupSpecs": []any{
		map[string]any{"groupName": "cpu", "replicas": int64(3)}, map[string]any{"groupName": "gpu", "replicas": int64(0)},
	}},
	"status": map[string]any{"state": "ready", "readyWorkerReplicas": int64(4)},
}

func TestMatches(t *testing.T) {
	for text, want := range map[string]bool{
		``:                                  true,
		`state = "ready"`:                   true,
		`state = ready`:                     true,
		`state != "ready"`:                  false,
		`status.readyWorkerReplicas > 3`:    true,
		`status.readyWorkerReplicas > 4`:    false,
		`status.readyWorkerReplicas >= 4`:   true,
		`metadata.name : "exp-"`:            true,
		`metadata.name : "prod"`:            false,
		`metadata.labels : tier`:            true,
		`labels.tier = web`:                 true,
		`labels."app.kubernetes.io/name"=x`: true,
		`NOT state = "ready"`:               false,
		`state = "failed" OR name = exp-1`:  true,
		`state = "failed" AND name = exp-1`: false,
		`state = "ready" name = "exp-2"`:    false,
		`(state = "failed" OR state = "ready") AND namespace = team`: true,
		// OR binds tighter: a AND (b OR c).
		`state = "failed" AND name = x OR name = exp-1`: false,
		`spec.suspend = true`:                           true,
		`spec.suspend = false`:                          false,
		`spec.workerGroupSpecs.groupName = gpu`:         true,
		`spec.workerGroupSpecs.replicas > 3`:            false,
		`spec.workerGroupSpecs.replicas = 3`:            true,
		`spec.managedBy : *`:                            false,
		`spec.rayVersion : *`:                           true,
		`spec.managedBy != "x"`:                         true,
		`status.readyWorkerReplicas = "4"`:              false,
	} {
		t.Run(text, func(t *testing.T) {
			f, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Matches(object); got != want {
				t.Errorf("Matches = %v, want %v", got, want)
			}
		})
	}
}

func TestSyntaxErrors(t *testing.T) {
	for text, want := range map[string]int{
		`state`:                6,
		`state =`:              8,
		`state = "ready`:       9,
		`(state = ready`:       15,
		`state = ready)`:       14,
		`AND`:                  1,
		`state = ready AND`:    18,
		`color = red`:          1,
		`é = x`:                1,
		`name = "é" AND !x`:    16,
		`state ! ready`:        7,
		`state = *`:            9,
		`metadata. = x`:        11,
		`state = OR`:           9,
		`"state" = ready`:      1,
		`metadata..name = "x"`: 1,
	} {
		t.Run(text, func(t *testing.T) {
			_, err := Parse(text)
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("Parse = %v, want a *SyntaxError", err)
			}
			if diff := cmp.Diff(want, syntax.Position); diff != "" {
				t.Errorf("position (-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}

// FuzzParse: no text breaks the parser, and what it accepts can be matched.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`state = "ready" AND NOT (name : "a" OR labels."x.y/z" != 3)`, `((((`, `a.b."c" <= -1e9`, "\"\\", `. = x`, `metadata."". = x`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := Parse(text)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Position < 1 {
				t.Fatalf("unexpected error %v", err)
			}
			return
		}
		parsed.Matches(object)
		parsed.Matches(nil)
	})
}
