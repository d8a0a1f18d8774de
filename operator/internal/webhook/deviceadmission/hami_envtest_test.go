package deviceadmission_test

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/pkg/devices/shipped"
)

var update = flag.Bool("update", false, "rewrite the golden Pods")

// golden is a Pod as its user writes it, and what it is with both webhooks, whichever comes first.
type golden struct {
	// Asks are limits of its containers, Annotations its own.
	Asks        []string          `json:"asks"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Scheduler   string            `json:"scheduler,omitempty"`

	Wants wants `json:"wants"`
}

type wants struct {
	Scheduler   string            `json:"scheduler"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Containers  []wantsContainer  `json:"containers"`
}

type wantsContainer struct {
	Limits   map[string]string `json:"limits"`
	Requests map[string]string `json:"requests"`
	Env      map[string]string `json:"env,omitempty"`
}

func (g *golden) pod(w *world) *corev1.Pod {
	pod := w.pod("dry", g.Asks[0])
	for _, more := range g.Asks[1:] {
		pod.Spec.Containers = append(pod.Spec.Containers, container("more", more))
	}
	pod.Annotations, pod.Spec.SchedulerName = g.Annotations, g.Scheduler
	return pod
}

// whatOf is what webhooks make of a Pod. A variable that is there twice is an error of the test.
func whatOf(t *testing.T, pod *corev1.Pod) wants {
	t.Helper()
	texts := func(list corev1.ResourceList) map[string]string {
		out := map[string]string{}
		for name, q := range list {
			out[string(name)] = q.String()
		}
		return out
	}
	out := wants{Scheduler: pod.Spec.SchedulerName, Annotations: pod.Annotations}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		got := wantsContainer{Limits: texts(c.Resources.Limits), Requests: texts(c.Resources.Requests)}
		for _, e := range c.Env {
			if _, ok := got.Env[e.Name]; ok {
				t.Errorf("variable %s is there twice", e.Name)
			}
			if got.Env == nil {
				got.Env = map[string]string{}
			}
			got.Env[e.Name] = e.Value
		}
		out.Containers = append(out.Containers, got)
	}
	return out
}

// nextToHAMi is the registry of an installation where the webhook of HAMi stays on: the scheduler and the variable of the priority are its business.
func nextToHAMi() string {
	text := strings.Replace(string(shipped.HAMi), "when: DefaultOnly", "when: Never", 1)
	return strings.Replace(text, "when: HasPriority}", "when: HasPriority, enabled: false}", 1)
}

// TestNextToHAMi: the API server calls HAMi's webhook before ours, then after ours: the golden Pod comes out both times.
func TestNextToHAMi(t *testing.T) {
	files, err := filepath.Glob("testdata/hami/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("golden Pods: %v, %v", files, err)
	}
	for order, prefix := range map[string]string{"before ours": "aaa-", "after ours": "zzz-"} { // the API server goes by names
		t.Run(order, func(t *testing.T) {
			w := newWorld(t, settings{registry: nextToHAMi()})
			w.neighbour(prefix+w.Namespace, hami{})
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				var g golden
				if err := yaml.UnmarshalStrict(data, &g); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				pod := g.pod(w)
				if err := w.dryRun(pod); err != nil {
					t.Errorf("%s: %v", file, err)
					continue
				}
				got := whatOf(t, pod)
				if *update {
					g.Wants = got
					data, err := yaml.Marshal(g)
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(file, data, 0o644); err != nil { //nolint:gosec // a file of the repository
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(g.Wants, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", file, diff)
				}
			}
		})
	}
}

// neighbour installs a webhook of somebody else, and waits until it is called.
func (w *world) neighbour(name string, h http.Handler) {
	w.T.Helper()
	w.replicas[0].Register("/neighbour", h)
	w.install("Mutating", name, map[string]any{
		"name": "neighbour.example.com", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "failurePolicy": "Fail",
		"clientConfig":      w.clientConfig("/neighbour"),
		"rules":             []any{map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"}, "resources": []any{"pods"}}},
		"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": w.Namespace}},
	})
	w.Eventually("the neighbour to be asked", func() bool { return w.admits("cpu=1") == nil && w.replicas[0].count("/neighbour") > 0 })
}
