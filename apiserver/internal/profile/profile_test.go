package profile

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/manifest"
)

const a100 = `
description: Four A100 for each worker
metadata:
  labels: {kueue.x-k8s.io/queue-name: gpus}
  annotations: {raygate.io/idle-timeout: 2h}
spec:
  rayVersion: 2.60.0
  headGroupSpec:
    template:
      spec:
        containers:
        - {name: ray-head, image: "team/ray:1", env: [{name: A, value: a}, {name: B, value: b}]}
        - {name: sidecar, image: "team/log:1"}
  workerGroupSpecs:
  - groupName: workers
    replicas: 1
    template:
      spec:
        nodeSelector: {gpu: a100}
        tolerations: [{key: gpu}]
        volumes: [{name: scratch, emptyDir: {}}]
        containers: [{name: ray-worker, image: "team/ray:1", resources: {limits: {nvidia.com/gpu: 4}}}]
locked:
- metadata.labels[kueue.x-k8s.io/queue-name]
- spec.workerGroupSpecs[*].template.spec.nodeSelector
- spec.workerGroupSpecs[workers].template.spec.tolerations
- spec.headGroupSpec.template.spec.hostNetwork
`

func tree(t testing.TB, text string) map[string]any {
	t.Helper()
	tree, errs := manifest.Read([]byte(text), true)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return tree
}

func parse(text string) (*Profile, field.ErrorList) {
	cm := &corev1.ConfigMap{Data: map[string]string{Key: text}}
	cm.Name = "a100x4"
	return Parse(cm)
}

func TestApply(t *testing.T) {
	p, errs := parse(a100)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for name, tc := range map[string]struct {
		spec                 []string
		object               string
		path, want, mistakes string
	}{
		"nothing given":              {path: "spec.workerGroupSpecs", want: `[{groupName: workers, replicas: 1, template: {spec: {nodeSelector: {gpu: a100}, tolerations: [{key: gpu}], volumes: [{name: scratch, emptyDir: {}}], containers: [{name: ray-worker, image: "team/ray:1", resources: {limits: {nvidia.com/gpu: 4}}}]}}}]`},
		"a job":                      {spec: []string{"spec", "rayClusterSpec"}, object: `{spec: {entrypoint: x}}`, path: "spec.rayClusterSpec.rayVersion", want: "2.60.0"},
		"a field":                    {object: `{spec: {rayVersion: 2.61.0}}`, path: "spec.rayVersion", want: "2.61.0"},
		"a null gives nothing":       {object: `{spec: {rayVersion: null}}`, path: "spec.rayVersion", want: "2.60.0"},
		"labels":                     {object: `{metadata: {name: x, labels: {team: a}}}`, path: "metadata", want: `{name: x, labels: {team: a, kueue.x-k8s.io/queue-name: gpus}, annotations: {raygate.io/idle-timeout: 2h}}`},
		"a group of the profile":     {object: `{spec: {workerGroupSpecs: [{groupName: workers, replicas: 8}]}}`, path: "spec.workerGroupSpecs.0.replicas", want: "8"},
		"another group":              {object: `{spec: {workerGroupSpecs: [{groupName: cpu, template: {spec: {nodeSelector: {gpu: a100}}}}]}}`, path: "spec.workerGroupSpecs.1.groupName", want: "cpu", mistakes: "spec.workerGroupSpecs[cpu].template.spec.nodeSelector"},
		"a variable":                 {object: head(`{name: ray-head, env: [{name: B, valueFrom: x}, {name: C}]}`), path: headContainers + ".0.env", want: `[{name: A, value: a}, {name: B, valueFrom: x}, {name: C}]`},
		"the Ray container's name":   {object: head(`{name: main, image: mine}`), path: headContainers, want: `[{name: main, image: mine, env: [{name: A, value: a}, {name: B, value: b}]}, {name: sidecar, image: "team/log:1"}]`},
		"the Ray container is first": {object: head(`{name: main}, {name: ray-head, image: mine}`), path: headContainers + ".2", want: "{name: ray-head, image: mine}"},
		"the sidecar":                {object: head(`{name: sidecar, image: mine}`), path: headContainers + ".1.image", want: "mine"},
		"a source of a volume":       {object: workers(`volumes: [{name: scratch, hostPath: {path: /x}}]`), path: "spec.workerGroupSpecs.0.template.spec.volumes", want: `[{name: scratch, hostPath: {path: /x}}]`},
		"a toleration":               {object: workers(`tolerations: [{key: gpu}, {key: other}]`), path: "spec.workerGroupSpecs.0.template.spec.tolerations", want: `[{key: gpu}, {key: other}]`, mistakes: "spec.workerGroupSpecs[workers].template.spec.tolerations"},
		"an equal locked value":      {object: `{metadata: {labels: {kueue.x-k8s.io/queue-name: gpus}}}`, path: "metadata.labels", want: "{kueue.x-k8s.io/queue-name: gpus}"},
		"a locked label":             {object: `{metadata: {labels: {kueue.x-k8s.io/queue-name: fast}}}`, mistakes: "metadata.labels[kueue.x-k8s.io/queue-name]"},
		"a locked field of the job":  {spec: []string{"spec", "rayClusterSpec"}, object: `{spec: {rayClusterSpec: {headGroupSpec: {template: {spec: {hostNetwork: true}}}}}}`, mistakes: "spec.rayClusterSpec.headGroupSpec.template.spec.hostNetwork"},
		"an added part of a lock":    {object: workers(`nodeSelector: {zone: x}`), mistakes: "spec.workerGroupSpecs[workers].template.spec.nodeSelector.zone"},
		"a wrong type under a lock":  {object: `{spec: {workerGroupSpecs: 5}}`, path: "spec.workerGroupSpecs", want: "5", mistakes: "spec.workerGroupSpecs.workers.template.spec.nodeSelector,spec.workerGroupSpecs.workers.template.spec.tolerations"},
		"a member that is no object": {spec: []string{"spec", "rayClusterSpec"}, object: `{spec: 5}`, path: "spec", want: "5"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := tc.spec
			if spec == nil {
				spec = []string{"spec"}
			}
			object := tree(t, cmp.Or(tc.object, "{}"))
			var fields []string
			for _, e := range p.Apply(object, spec...) {
				fields = append(fields, e.Field)
				if !strings.Contains(e.Error(), "leave it out") || !strings.Contains(e.Error(), "a100x4") {
					t.Errorf("%v names no remedy and profile", e)
				}
			}
			if got := strings.Join(fields, ","); tc.mistakes != "" && got != tc.mistakes {
				t.Errorf("want mistakes in %s, got %s", tc.mistakes, got)
			}
			if tc.want == "" {
				return
			}
			want := tree(t, "x: "+tc.want)["x"]
			if got := member(object, tc.path); fmt.Sprint(want) != fmt.Sprint(got) {
				t.Errorf("want\n%v, got\n%v", want, got)
			}
		})
	}
}

const headContainers = "spec.headGroupSpec.template.spec.containers"

func head(container string) string {
	return "{spec: {headGroupSpec: {template: {spec: {containers: [" + container + "]}}}}}"
}

func workers(member string) string {
	return "{spec: {workerGroupSpecs: [{groupName: workers, template: {spec: {" + member + "}}}]}}"
}

// member returns the value at a path with indices.
func member(value any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			value = v[int(step[0]-'0')]
		}
	}
	return value
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		"spec: {rayVersions: '1'}":   "spec.rayVersions",
		"spec: {suspend: maybe}":     "spec.suspend",
		"metadata: {name: x}":        "metadata.name",
		"locked: [spec]":             "locked[0]",
		"locked: [spec.rayVersions]": "locked[0]",
		"locked: ['spec.workerGroupSpecs[*].templates']":       "locked[0]",
		"locked: ['spec.rayVersion[*]']":                       "locked[0]",
		"locked: ['spec.workerGroupSpecs[a.b].template']":      "none",
		"locked: ['metadata.annotations[*]', metadata.labels]": "none",
		"description: x": "none",
	} {
		_, errs := parse(text)
		got := "none"
		if len(errs) > 0 {
			got = errs[0].Field
		}
		if got != want {
			t.Errorf("%q: want a mistake in %q, got %v", text, want, errs)
		}
	}
}

// Whatever profile and object are, the merge does not panic, keeps all texts and numbers that the object gives outside of lists, and adds nothing
// the second time.
func FuzzApply(f *testing.F) {
	f.Add(a100, head(`{name: main, env: [{name: A}]}`))
	f.Add(a100, workers(`tolerations: [{key: gpu}], nodeSelector: 5`))
	f.Add("spec: {workerGroupSpecs: [{groupName: a}, {groupName: a}]}\nlocked: ['spec.workerGroupSpecs[*].replicas']", "spec: {workerGroupSpecs: [{groupName: a}, null, 5]}")
	f.Fuzz(func(t *testing.T, profile, given string) {
		p, errs := parse(profile)
		object, _ := manifest.Read([]byte(given), true)
		if len(errs) > 0 || object == nil {
			return
		}
		before, _ := manifest.Read([]byte(given), true)
		p.Apply(object, "spec")
		keeps(t, before, object)
		once := text(object)
		p.Apply(object, "spec")
		if again := text(object); again != once {
			t.Errorf("applied twice:\n%s\n%s", once, again)
		}
	})
}

func keeps(t *testing.T, before, after any) {
	t.Helper()
	switch before := before.(type) {
	case map[string]any:
		for name, value := range before {
			now, _ := after.(map[string]any)
			keeps(t, value, now[name])
		}
	case string, bool, int64, float64:
		if before != after {
			t.Errorf("%v became %v", before, after)
		}
	}
}
