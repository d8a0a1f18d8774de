package raycluster

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/pkg/devices/claims"
)

// TestHostsOfASliceFindEachOther: each worker has a rank of its own, and the names in its variables are those that Kubernetes gives to the
// Pods of its replica.
func TestHostsOfASliceFindEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.simulatedDriver(claims.AnnotationRayResource + ": TPU")
	w.objects(twoOfClass)
	w.startOperator(func(c *Config) { c.Pod.TPUEnvironment = true })
	rc := w.cluster("demo", raytest.Workers("v5e", 2, raytest.Hosts(2)))
	claiming(&rc.Spec.WorkerGroupSpecs[0].Template, "two")
	w.Create(rc)
	w.eventuallyReady("demo")
	slicesOf := map[string][]string{} // ranks by the hosts of the slice
	hosts := map[string]bool{}
	for _, p := range w.pods("demo") {
		if p.Labels[rayv1.LabelGroup] != "v5e" {
			continue
		}
		value := func(name string) string {
			env := p.Spec.Containers[0].Env
			return env[slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == name })].Value
		}
		list := value("TPU_WORKER_HOSTNAMES")
		rank := value("TPU_WORKER_ID")
		if own := p.Spec.Hostname + "." + p.Spec.Subdomain; !strings.HasSuffix(p.Spec.Hostname, "-"+rank) || !slices.Contains(strings.Split(list, ","), own) {
			t.Errorf("%s is %s, rank %s of %s", p.Name, own, rank, list)
		}
		hosts[p.Spec.Hostname] = true
		slicesOf[list] = append(slicesOf[list], rank)
	}
	if len(slicesOf) != 2 || len(hosts) != 4 {
		t.Errorf("slices %v, hosts %v; want two of two hosts", slicesOf, hosts)
	}
	w.Eventually("the names in DNS", func() bool {
		var list discoveryv1.EndpointSliceList
		if err := w.Client.List(t.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: "demo-headless"}); err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, s := range list.Items {
			for _, e := range s.Endpoints {
				if e.Hostname != nil {
					found[*e.Hostname] = hosts[*e.Hostname]
				}
			}
		}
		return len(found) == 4
	})
}
