package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// here is a store of one object.
type here struct{ Store }

func (here) Get(context.Context, types.NamespacedName, store.ReadOptions) (*store.Item, error) {
	return store.ParseItem([]byte(`{"kind":"RayCluster","metadata":{"name":"a","namespace":"default","uid":"u"}}`))
}

func (here) Age() time.Duration { return 0 }

// eventsOf lists the events of a cluster and its Pods, of which there are that many; each Pod has one event. Lists without a limit fail.
func eventsOf(t *testing.T, pods int) (found int, warnings []string) {
	t.Helper()
	kube := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit, _ := strconv.Atoi(r.FormValue("limit"))
		from, _ := strconv.Atoi(r.FormValue("continue"))
		to := min(from+limit, pods)
		if limit == 0 {
			http.Error(w, "a list without a limit", http.StatusTeapot)
			return
		}
		meta := metav1.ListMeta{}
		if to < pods {
			meta.Continue = strconv.Itoa(to)
		}
		var list any
		if strings.HasSuffix(r.URL.Path, "/pods") {
			all := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: meta}
			for n := from; n < to; n++ {
				all.Items = append(all.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(n))}})
			}
			list = all
		} else {
			all := corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, ListMeta: meta}
			for n := from; n < to; n++ {
				all.Items = append(all.Items, corev1.Event{InvolvedObject: corev1.ObjectReference{UID: types.UID(fmt.Sprint(n))}})
			}
			list = all
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(kube.Close)
	core, err := store.NewClient(&rest.Config{Host: kube.URL, QPS: -1}, clientscheme.Scheme, corev1.SchemeGroupVersion, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := clusters(Options{In: only(here{}), Authorizer: authz.AllowAll{}, Core: core, Warn: func(_ context.Context, text string) { warnings = append(warnings, text) }})
	resp := &raygatev2.ListClusterEventsResponse{}
	if err := r.Events(t.Context(), &raygatev2.ListClusterEventsRequest{Namespace: "default", Name: "a", IncludeChildren: true, PageSize: 1000}, resp); err != nil {
		t.Fatal(err)
	}
	return len(resp.GetEvents()), warnings
}

// Pods are read in pages, as events are, and events that were not looked at are no secret.
func TestEventsOfManyPods(t *testing.T) {
	if found, warnings := eventsOf(t, 700); found != 700 || len(warnings) > 0 {
		t.Errorf("%d events of 700, warnings %q", found, warnings)
	}
	if _, warnings := eventsOf(t, maxEvents+1); !slices.ContainsFunc(warnings, func(text string) bool { return strings.Contains(text, "more than 5000 events") }) {
		t.Errorf("warnings %q", warnings)
	}
}
