package v1

import (
	"testing"

	"google.golang.org/protobuf/proto"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/encoding"
	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// TestOneSpoiltObjectDoesNotBreakAList has one that no Go type can read, and one whose conversion panics.
func TestOneSpoiltObjectDoesNotBreakAList(t *testing.T) {
	item := func(text string) *store.Item {
		i, err := store.ParseItem([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	items := func() []*store.Item {
		return []*store.Item{
			item(`{"metadata":{"name":"good","namespace":"ns"},"spec":{"rayVersion":"2.46.0"}}`),
			item(`{"metadata":{"name":"spoilt","namespace":"ns","labels":{"ray.io/user":"boris"}},"spec":{"headGroupSpec":{"template":{"spec":{"containers":"none"}}}}}`),
		}
	}
	panics := func(rc *rayv1.RayCluster) *kuberay.Cluster {
		if rc.Spec.RayVersion != "" {
			panic("a fault of the conversion")
		}
		return modelv1.ClusterFromRay(rc)
	}
	for name, v := range map[string]view[rayv1.RayCluster, *kuberay.Cluster]{"as it is": modelv1.ClusterFromRay, "with a fault": panics} {
		all, err := v.all(t.Context(), encoding.NewCache(0), items())
		if err != nil || len(all) != 2 {
			t.Fatalf("%s: %v %v", name, all, err)
		}
		for i, want := range []string{"good", "spoilt"} {
			data, err := proto.Marshal(all[i])
			got := &kuberay.Cluster{}
			if err != nil || proto.Unmarshal(data, got) != nil || got.GetName() != want || got.GetNamespace() != "ns" || got.GetClusterSpec() == nil {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
	}
}

// TestListing checks what a list is asked for before anything is read.
func TestListing(t *testing.T) {
	if err := (listing{}).checkNamespace(); err == nil {
		t.Error("a list of no namespace")
	}
	if err := (listing{namespace: ".."}).checkNamespace(); err == nil {
		t.Error("a list of what no path can hold")
	}
	if _, _, err := (listing{all: true, limit: -1}).list(t.Context(), nil); err == nil {
		t.Error("a negative page")
	}
}

func TestSubmissionOfNothing(t *testing.T) {
	if _, err := submissionToRay(nil); err == nil {
		t.Error("nothing is submitted")
	}
	made, err := submissionToRay(&kuberay.RayJobSubmission{Entrypoint: "ls", EntrypointNumCpus: -1})
	if err != nil || made.SubmissionID == "" || made.EntrypointNumCPUs != 0 {
		t.Error(made, err)
	}
	for _, id := range []string{".", "..", string(make([]byte, 513))} {
		if _, err := submissionToRay(&kuberay.RayJobSubmission{SubmissionId: id}); err == nil {
			t.Errorf("%q is an id", id)
		}
	}
}
