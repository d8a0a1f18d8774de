package v1

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

func TestComputeTemplates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	template := func(name string) *kuberay.ComputeTemplate {
		return &kuberay.ComputeTemplate{Name: name, Namespace: w.namespace, Cpu: 4, Memory: 4}
	}
	t.Run("create", func(t *testing.T) {
		w, sent, got := w.in(t), template("fresh"), &kuberay.ComputeTemplate{}
		w.ok("POST", w.path("compute_templates"), sent, got)
		sent.MemoryUnit = "Gi"
		wantSame(t, sent, got) // lists and maps that are absent stay absent
		w.refused(409, "POST", w.path("compute_templates"), sent)
	})
	for name, edit := range map[string]func(*kuberay.ComputeTemplate){
		"no name":           func(c *kuberay.ComputeTemplate) { c.Name = "" },
		"namespace differs": func(c *kuberay.ComputeTemplate) { c.Namespace = "another" },
		"zero cpu":          func(c *kuberay.ComputeTemplate) { c.Cpu = 0 },
		"zero memory":       func(c *kuberay.ComputeTemplate) { c.Memory = 0 },
		"duplicate":         func(c *kuberay.ComputeTemplate) { c.Name, c.Memory = "fresh", 0 },
		"memory unit":       func(c *kuberay.ComputeTemplate) { c.MemoryUnit = "bananas" },
	} {
		t.Run("create/refused/"+name, func(t *testing.T) {
			c := template("refused")
			edit(c)
			w.in(t).refused(400, "POST", w.path("compute_templates"), c)
		})
	}
	t.Run("list", func(t *testing.T) {
		some, all := &kuberay.ListComputeTemplatesResponse{}, &kuberay.ListAllComputeTemplatesResponse{}
		w.in(t).ok("GET", w.path("compute_templates"), nil, some)
		w.in(t).ok("GET", "/apis/v1/compute_templates", nil, all)
		mine := w.namespace + "/fresh"
		if !slices.Equal(namesOf(some.GetComputeTemplates()), []string{mine, w.namespace + "/" + w.template}) || !slices.Contains(namesOf(all.GetComputeTemplates()), mine) {
			t.Errorf("in the namespace %v, in all %v", some, all)
		}
	})
	t.Run("a memory unit that somebody has spoilt", func(t *testing.T) {
		w := w.in(t)
		w.ok("POST", w.path("compute_templates"), template("spoilt"), &kuberay.ComputeTemplate{})
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "spoilt", Namespace: w.namespace}}
		if err := product.kube.Patch(t.Context(), cm, client.RawPatch(types.MergePatchType, []byte(`{"data":{"memory_unit":"bananas"}}`))); err != nil {
			t.Fatal(err)
		}
		c := w.cluster("demo")
		c.ClusterSpec.HeadGroupSpec.ComputeTemplate = "spoilt"
		w.refused(400, "POST", w.path("clusters"), c)
		w.ok("DELETE", w.path("compute_templates", "spoilt"), nil, nil)
	})
	t.Run("get and delete", func(t *testing.T) {
		w, got := w.in(t), &kuberay.ComputeTemplate{}
		w.ok("GET", w.path("compute_templates", "fresh"), nil, got)
		if got.GetName() != "fresh" || got.GetNamespace() != w.namespace {
			t.Errorf("got %v", got)
		}
		for _, method := range []string{"GET", "DELETE"} {
			w.refused(404, method, w.path("compute_templates", "unknown"), nil)
			w.refused(400, method, w.path("compute_templates", ""), nil)
			w.refused(404, method, pathIn("", "compute_templates", "fresh"), nil)
			w.refused(404, method, w.path("compute_templates", "kube-root-ca.crt"), nil) // a ConfigMap, but no template
		}
		w.ok("DELETE", w.path("compute_templates", "fresh"), nil, nil)
		w.refused(404, "GET", w.path("compute_templates", "fresh"), nil)
	})
}
