package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// full is a stub whose list is a page of objects as the API server stores them.
type full struct {
	stub
	page *store.Page
}

func (f full) List(context.Context, store.ListOptions) (*store.Page, error) { return f.page, nil }

// BenchmarkListByREST is what a list of 1,000 costs beside the store: nothing is encoded again, and the JSON is copied.
func BenchmarkListByREST(b *testing.B) {
	manifest, err := os.ReadFile("../../../samples/raycluster.complete.yaml")
	if err != nil {
		b.Fatal(err)
	}
	data, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		b.Fatal(err)
	}
	page := &store.Page{Version: "1"}
	for n := range 1000 {
		item, err := store.ParseItem(data)
		if err != nil {
			b.Fatal(err)
		}
		item.Name, item.ResourceVersion = fmt.Sprint("c", n), fmt.Sprint(n)
		page.Items = append(page.Items, item)
	}
	h := build(b, full{page: page}, false, flowcontrol.Limits{}, authn.NewAnyone())
	for _, view := range []string{"FULL", "BASIC"} {
		b.Run(view, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := call(h, "GET", clusters+"?pageSize=1000&view="+view, "")
				if w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
				b.SetBytes(int64(w.Body.Len()))
			}
		})
	}
}
