package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// TestV1Events reads objects with their events, from a cache and from Kubernetes.
func TestV1Events(t *testing.T) {
	for name, cached := range map[string]bool{"asked": false, "cached": true} {
		t.Run(name, func(t *testing.T) { testV1Events(t, cached) })
	}
}

func testV1Events(t *testing.T, cached bool) {
	var asked atomic.Int64
	w := newV1World(t, func(o *Options) {
		o.V1.CacheEvents = cached
		o.restConfig.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/events") && r.URL.Query().Get("watch") == "" {
					asked.Add(1)
				}
				return next.RoundTrip(r)
			})
		})
	})
	w.want(t, 200, "POST", w.path("clusters"), w.cluster("demo"), &kuberay.Cluster{})
	w.want(t, 200, "POST", w.path("services"), w.service("demo"), &kuberay.RayService{})
	uids := map[string]types.UID{}
	for kind, resource := range map[string]string{"RayCluster": "rayclusters", "RayService": "rayservices"} {
		object := shared.Env(t).Stored(t, "ray.io/"+resource, w.namespace, "demo")
		uids[kind] = types.UID(object["metadata"].(map[string]any)["uid"].(string))
	}
	record := func(name, kind string, uid types.UID) {
		_, err := w.kube.CoreV1().Events(w.namespace).Create(t.Context(), &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: name},
			InvolvedObject: corev1.ObjectReference{APIVersion: rayv1.GroupVersion.String(), Kind: kind, Namespace: w.namespace, Name: "demo", UID: uid},
			Reason:         "Tested", Message: "message of " + name, Type: "Normal", Count: 2, FirstTimestamp: metav1.Unix(1000, 0), LastTimestamp: metav1.Unix(2000, 0),
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	record("demo.cluster", "RayCluster", uids["RayCluster"])
	record("demo.service", "RayService", uids["RayService"])
	record("demo.gone", "RayCluster", "of-a-namesake-that-is-gone")
	cluster, service := &kuberay.Cluster{}, &kuberay.RayService{}
	await.True(t, "the events are shown", func() bool {
		cluster.Reset()
		service.Reset()
		w.want(t, 200, "GET", w.path("clusters", "demo"), nil, cluster)
		w.want(t, 200, "GET", w.path("services", "demo"), nil, service)
		return len(cluster.GetEvents()) == 1 && len(service.GetRayServiceStatus().GetRayServiceEvents()) == 1
	})
	e := cluster.GetEvents()[0]
	if e.GetId() != "demo.cluster" || e.GetName() != "demo-demo.cluster" || e.GetReason() != "Tested" || e.GetMessage() != "message of demo.cluster" || e.GetCount() != 2 ||
		e.GetFirstTimestamp().GetSeconds() != 1000 || e.GetLastTimestamp().GetSeconds() != 2000 || e.GetCreatedAt() == nil {
		t.Errorf("shown as %v", e)
	}
	byGRPC, err := kuberay.NewClusterServiceClient(w.dial(t)).GetCluster(t.Context(), &kuberay.GetClusterRequest{Namespace: w.namespace, Name: "demo"})
	if err != nil || len(byGRPC.GetEvents()) != 1 {
		t.Errorf("by gRPC %v, %v", byGRPC.GetEvents(), err)
	}
	// The events of the active cluster come after those of the service.
	status := fmt.Appendf(nil, `{"status":{"activeServiceStatus":{"rayClusterName":"demo"}}}`)
	uri := "/apis/ray.io/v1/namespaces/" + w.namespace + "/rayservices/demo/status"
	if err := w.kube.CoreV1().RESTClient().Patch(types.MergePatchType).RequestURI(uri).Body(status).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the events of the active cluster are shown", func() bool {
		service.Reset()
		w.want(t, 200, "GET", w.path("services", "demo"), nil, service)
		return len(service.GetRayServiceStatus().GetRayServiceEvents()) == 2
	})
	var ids []string
	for _, e := range service.GetRayServiceStatus().GetRayServiceEvents() {
		ids = append(ids, e.GetId())
	}
	if !slices.Equal(ids, []string{"demo.service", "demo.cluster"}) {
		t.Errorf("events of the service are %v", ids)
	}
	list := &kuberay.ListClustersResponse{}
	before := asked.Load()
	w.want(t, 200, "GET", w.path("clusters"), nil, list)
	if asked.Load() != before || len(list.GetClusters()) != 1 || len(list.GetClusters()[0].GetEvents()) > 0 {
		t.Errorf("a list asks for events %d times: %v", asked.Load()-before, list)
	}
	w.want(t, 200, "GET", w.path("clusters", "demo"), nil, cluster)
	if (asked.Load() == before) != cached {
		t.Errorf("a get has asked for events %d times", asked.Load()-before)
	}
}
