package service

import (
	"k8s.io/apimachinery/pkg/runtime"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/filter"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// parseFilter returns what a filter matches; nil when it is empty.
func parseFilter(text string) (store.Match[*rayv1.RayCluster], error) {
	if text == "" {
		return nil, nil
	}
	f, err := filter.Parse(text)
	if err != nil {
		return nil, rpcstatus.BadField("filter", "%v", err)
	}
	return func(item *Cluster) (bool, error) {
		tree, err := item.Memo("tree", func() (any, error) { return runtime.DefaultUnstructuredConverter.ToUnstructured(item.Object) })
		if err != nil {
			return false, err
		}
		return f.Matches(tree.(map[string]any)), nil
	}, nil
}
