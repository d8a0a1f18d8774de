package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// one is a stub with one object.
type one struct {
	stub
	item *store.Item
}

func (o one) Get(context.Context, types.NamespacedName, store.ReadOptions) (*store.Item, error) {
	return o.item, nil
}

// BenchmarkGetByREST is what a get costs beside the store and the connection, for a caller whose token is known.
func BenchmarkGetByREST(b *testing.B) {
	manifest, err := os.ReadFile("../../../samples/raycluster.minimal.yaml")
	if err != nil {
		b.Fatal(err)
	}
	data, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		b.Fatal(err)
	}
	item, err := store.ParseItem(data)
	if err != nil {
		b.Fatal(err)
	}
	item.Name, item.ResourceVersion = "demo", "7"
	who := authn.NewTokens(func(context.Context) (*authenticationv1.SelfSubjectReview, error) {
		return &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "jane"}}}, nil
	}, nil)
	h := build(b, one{item: item}, false, flowcontrol.Limits{CallerRate: 1e9, CallerBurst: 1e9}, who)
	token := strings.Repeat("t", 900) // as long as that of a ServiceAccount
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, clusters+"/demo", http.NoBody)
		r.Header = http.Header{"Authorization": {"Bearer " + token}, "Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "User-Agent": {"Go-http-client/1.1"}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
	}
}
