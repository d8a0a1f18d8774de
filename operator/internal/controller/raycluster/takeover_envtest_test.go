package raycluster

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// decode reads the objects of a file in testdata, after the replacements.
func decode(t *testing.T, file string, replace ...string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(replace...).Replace(string(data))
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	var list []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
}

// leaveByKubeRay creates a cluster and what KubeRay of this version would have made for it, and waits until all Pods are
// ready. No operator runs meanwhile.
func (w *world) leaveByKubeRay(version string, change func(*unstructured.Unstructured)) {
	w.T.Helper()
	rc := decode(w.T, "takeover-cluster.yaml", "NAMESPACE", w.Namespace)[0]
	change(rc)
	w.Create(rc)
	for _, o := range decode(w.T, "takeover.yaml", "NAMESPACE", w.Namespace, "OWNER", string(rc.GetUID()), "KUBERAY", version) {
		w.Create(o)
	}
	w.Eventually("the Pods of KubeRay to be ready", func() bool {
		ready := 0
		for _, p := range w.pods("live") {
			if podReady(&p) {
				ready++
			}
		}
		return ready == 7
	})
	st := w.get("live")
	st.Status = rayv1.RayClusterStatus{
		State: rayv1.ClusterStateReady, DesiredWorkerReplicas: 6, ReadyWorkerReplicas: 6, AvailableWorkerReplicas: 6, MaxWorkerReplicas: 18,
		Conditions: []metav1.Condition{{
			Type: rayv1.RayClusterProvisioned, Status: metav1.ConditionTrue, Reason: rayv1.ReasonAllPodRunningAndReadyFirstTime,
			LastTransitionTime: metav1.Now(),
		}},
	}
	if err := w.Client.Status().Update(w.T.Context(), st); err != nil {
		w.T.Fatal(err)
	}
}

// adoptedOnce are the writes that a take-over costs besides status and events, none of which a Pod notices: the right to
// RayClusters is narrowed to this one, and the headless Service gets the label by which our cache knows it. That it is there is
// found out by a create, which is refused.
func (w *world) adoptedOnce() map[string]bool {
	services := "/api/v1/namespaces/" + w.Namespace + "/services"
	return map[string]bool{
		"PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/" + w.Namespace + "/roles/live": true,
		"POST " + services:                     true,
		"PATCH " + services + "/live-headless": true,
	}
}

// versions are the Pods with their resourceVersions: equal ones were neither made anew nor changed.
func versions(list []corev1.Pod) map[string]string {
	all := map[string]string{}
	for _, p := range list {
		all[p.Name] = string(p.UID) + " " + p.ResourceVersion
	}
	return all
}

func TestTakingOverALiveClusterTouchesNothing(t *testing.T) {
	t.Parallel()
	recreate := func(o *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(o.Object, "Recreate", "spec", "upgradeStrategy", "type"); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		version     string
		change      func(*unstructured.Unstructured)
		wantPatches int // of the head Pod
	}{
		"by default":            {version: "nightly", change: func(*unstructured.Unstructured) {}},
		"with Recreate":         {version: "nightly", change: recreate, wantPatches: 1},
		"with Recreate, of 1.7": {version: "v1.7.0", change: recreate, wantPatches: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.leaveByKubeRay(tc.version, tc.change)
			before := versions(w.pods("live"))
			counted, _ := w.startOperator()
			w.Eventually("the status of our own", func() bool {
				rc := w.get("live")
				return rc.Status.ObservedGeneration == rc.Generation && rc.Status.Head.PodName != ""
			})
			time.Sleep(2 * settleTime) // progress is gathered so long
			w.fence("live")
			after := versions(w.pods("live"))
			patches, once := 0, w.adoptedOnce()
			for _, request := range counted.seen() {
				switch {
				case strings.HasPrefix(request, "PATCH ") && strings.HasSuffix(request, "/pods/live-head-k7xzq"):
					patches++
				case strings.HasSuffix(request, "/rayclusters/live/status"), strings.Contains(request, "/events"):
				case once[request]:
					delete(once, request)
				default:
					t.Errorf("unexpected write: %s", request)
				}
			}
			if patches != tc.wantPatches {
				t.Errorf("patched the head %d times, want %d", patches, tc.wantPatches)
			}
			if tc.wantPatches > 0 {
				w.checkAdopted()
				maps.DeleteFunc(before, func(name, _ string) bool { return name == "live-head-k7xzq" })
				maps.DeleteFunc(after, func(name, _ string) bool { return name == "live-head-k7xzq" })
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("Pods (-before +after):\n%s", diff)
			}
			w.checkTakenOver()
		})
	}
}

// checkAdopted demands that the head has our version, and nothing else of it has changed.
func (w *world) checkAdopted() {
	w.T.Helper()
	head := &corev1.Pod{}
	if err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "live-head-k7xzq"}, head); err != nil {
		w.T.Fatal(err)
	}
	if v := head.Annotations[rayv1.AnnotationKubeRayVersion]; v != testVersion {
		w.T.Errorf("version of the head is %q, want %q", v, testVersion)
	}
	if h := head.Annotations[rayv1.AnnotationUpgradeStrategyRecreateHash]; len(h) != 32 || strings.HasPrefix(h, "0123456789") {
		w.T.Errorf("hash of the head is %q, want ours", h)
	}
	if head.Annotations[rayv1.AnnotationFTEnabled] != "true" || head.Annotations[rayv1.AnnotationExternalStorageNamespace] == "" {
		w.T.Errorf("other annotations of the head were lost: %v", head.Annotations)
	}
}

func (w *world) checkTakenOver() {
	w.T.Helper()
	type summary struct {
		State                               rayv1.ClusterState
		Reason                              string
		Desired, Available, Ready, Min, Max int32
		CPU, Memory                         string
		Head                                string
		Service                             string
		Endpoints                           map[string]string
		True                                []string
	}
	st := w.get("live").Status
	got := summary{
		State: st.State, Reason: st.Reason, Desired: st.DesiredWorkerReplicas, Available: st.AvailableWorkerReplicas, Ready: st.ReadyWorkerReplicas,
		Min: st.MinWorkerReplicas, Max: st.MaxWorkerReplicas, CPU: st.DesiredCPU.String(), Memory: st.DesiredMemory.String(),
		Head: st.Head.PodName, Service: st.Head.ServiceName, Endpoints: st.Endpoints,
	}
	for _, kind := range []string{rayv1.RayClusterProvisioned, rayv1.HeadPodReady, rayv1.RayClusterReplicaFailure, rayv1.RayClusterStalled, rayv1.RayClusterSuspended} {
		if meta.IsStatusConditionTrue(st.Conditions, kind) {
			got.True = append(got.True, kind)
		}
	}
	want := summary{
		State: rayv1.ClusterStateReady, Desired: 6, Available: 6, Ready: 6, Max: 18, CPU: "7", Memory: "8Gi",
		Head: "live-head-k7xzq", Service: "live-head-svc",
		Endpoints: map[string]string{"client": "10001", "dashboard": "8265", "gcs-server": "6379", "metrics": "8080"},
		True:      []string{rayv1.RayClusterProvisioned, rayv1.HeadPodReady},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.T.Errorf("status (-want +got):\n%s", diff)
	}
	if st.Head.PodIP == "" || st.Head.ServiceIP != st.Head.PodIP {
		w.T.Errorf("addresses of the head: %+v", st.Head)
	}
}
