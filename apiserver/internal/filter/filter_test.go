package filter

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

const object = `{
	"metadata": {"name": "exp-1", "namespace": "team", "labels": {"app.kubernetes.io/name": "x", "tier": "web"}, "creationTimestamp": "2026-01-31T12:00:00Z"},
	"spec": {"suspend": true, "rayVersion": "2.46.0", "newField": 1, "workerGroupSpecs": [
		{"groupName": "cpu", "replicas": 3, "template": {"spec": {"priority": 7, "hostNetwork": true}}}, {"groupName": "gpu"}
	]},
	"status": {"state": "ready", "readyWorkerReplicas": 4, "desiredCPU": "1500m", "desiredMemory": "10Gi", "endpoints": {"client": "10001"},
		"conditions": [{"type": "HeadPodReady", "status": "True"}]}
}`

var message = (&raygatev2.RayCluster{}).ProtoReflect().Descriptor()

func parse(text string) (*Filter, error) { return Parse(text, message, "status.state") }

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
		`status.readyWorkerReplicas = "4"`:              true, // the field is a number, however the value is written

		// Unset fields are false, 0 or empty.
		`spec.enableInTreeAutoscaling = false`:                true,
		`spec.enableInTreeAutoscaling = true`:                 false,
		`spec.enableInTreeAutoscaling : *`:                    false,
		`status.desiredWorkerReplicas < 1`:                    true,
		`status.desiredWorkerReplicas > 0`:                    false,
		`status.reason = ""`:                                  true,
		`status.head.podIP = ""`:                              true,
		`status.desiredGPU = 0`:                               true,
		`spec.workerGroupSpecs.replicas = 0`:                  true,
		`spec.workerGroupSpecs.suspend = true`:                false,
		`spec.autoscalerOptions.env : *`:                      false,
		`metadata.finalizers = ""`:                            false, // no element at all
		`labels.team = ""`:                                    false,
		`labels.team != "a"`:                                  true,
		`metadata.deletionTimestamp < "2027-01-01T00:00:00Z"`: false,
		`metadata.deletionTimestamp : *`:                      false,

		// Quantities, versions and times are not text.
		`status.desiredCPU < 2`:                                    true,
		`status.desiredCPU = "1.5"`:                                true,
		`status.desiredCPU > 200m`:                                 true,
		`status.desiredMemory > 9Gi`:                               true,
		`status.desiredMemory < 9Gi`:                               false,
		`spec.rayVersion > "2.9"`:                                  true,
		`spec.rayVersion < "2.9.3"`:                                false,
		`spec.rayVersion = 2.46`:                                   true,
		`spec.rayVersion >= 2`:                                     true,
		`spec.rayVersion = nightly`:                                false,
		`spec.rayVersion : "46"`:                                   true,
		`metadata.creationTimestamp > "2026-01-31T13:00:00+02:00"`: true,
		`metadata.creationTimestamp > "2026-01-31T12:00:01Z"`:      false,

		// Within documents of Kubernetes the JSON decides.
		`spec.workerGroupSpecs.template.spec.priority > 6`:       true,
		`spec.workerGroupSpecs.template.spec.hostNetwork = true`: true,
		`spec.workerGroupSpecs.template.spec.nodeName = ""`:      false,
		`status.endpoints : client`:                              true,
		`status.endpoints.client = 10001`:                        true,
		`status.conditions.type = HeadPodReady`:                  true,
	} {
		t.Run(text, func(t *testing.T) {
			f, err := parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Matches([]byte(object)); got != want {
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

		`status.state.x = y`:                 1,
		`spec.workers = 3`:                   1,
		`status.readyWorkerReplicas = many`:  30,
		`spec.suspend = yes`:                 16,
		`status.desiredCPU > lots`:           21,
		`metadata.creationTimestamp > today`: 30,
		`status.head = x`:                    1,
	} {
		t.Run(text, func(t *testing.T) {
			_, err := parse(text)
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
		parsed, err := parse(text)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Position < 1 {
				t.Fatalf("unexpected error %v", err)
			}
			return
		}
		parsed.Matches([]byte(object))
		parsed.Matches(nil)
	})
}

// Every comparison searches lists and documents again, so the number of such comparisons is limited.
func TestCostIsBounded(t *testing.T) {
	for comparison, most := range map[string]int{"spec.workerGroupSpecs.groupName=a": 30, "spec.headGroupSpec.template.a.b=a": 30, "name=a": 300} {
		text := strings.Repeat(comparison+" OR ", most-1) + comparison
		if _, err := parse(text); err != nil {
			t.Errorf("%d of %s: %v", most, comparison, err)
		}
		var syntax *SyntaxError
		if _, err := parse(text + " " + comparison); most == 30 && (!errors.As(err, &syntax) || syntax.Position != len(text)+2) {
			t.Errorf("%d of %s: %v", most+1, comparison, err)
		}
	}
}

// BenchmarkMatches is the longest filter on an object of 30 KB.
func BenchmarkMatches(b *testing.B) {
	large := []byte(`{"metadata":{"name":"a"},"spec":{"headGroupSpec":{"template":{"a":"` + strings.Repeat("x", 30<<10) + `"}}},"status":{"state":"ready"}}`)
	f, err := parse(strings.Repeat("state=a OR ", 299) + "state=b")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if f.Matches(large) {
			b.Fatal("matches")
		}
	}
}
