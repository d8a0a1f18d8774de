package load

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// TestPagesWhileObjectsChange pages through 5,000 objects while others come, change and go: none is seen twice, and none that stays is missed.
func TestPagesWhileObjectsChange(t *testing.T) {
	c := controlPlane(t)
	ns := c.namespace(t)
	stable := pick(600, 5000)
	c.create(t, many(ns, "stable-", stable)...)
	g, token := c.gateway(t, ""), c.user(t, ns, "user")
	reader := g.dial(t, token)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writers sync.WaitGroup
	var changed atomic.Int64
	failed := make(chan error, 1)
	writers.Go(func() {
		for ; ctx.Err() == nil; changed.Add(1) {
			changes := int(changed.Load())
			// Before and behind every place of a page, and on it.
			name := fmt.Sprintf("%c-%d", 'a'+rune(changes%26), changes)
			err := c.client.Create(ctx, cluster(ns, name))
			if err == nil {
				err = c.label(ctx, ns, fmt.Sprintf("stable-%d", changes*37%stable), fmt.Sprint(changes))
			}
			if err == nil && changes >= 5 {
				old := changes - 5
				err = c.client.Delete(ctx, &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("%c-%d", 'a'+rune(old%26), old)}}, client.PropagationPolicy(metav1.DeletePropagationBackground))
			}
			if err != nil && ctx.Err() == nil {
				failed <- err
				cancel()
				return
			}
		}
	})
	for range pick(1, 3) {
		for _, order := range []string{"", "name desc", "createTime desc", "createTime"} {
			t.Run("order "+order, func(t *testing.T) {
				pages(t, reader, ns, order, stable, func() { // between two pages
					for before := changed.Load(); changed.Load() == before && ctx.Err() == nil; time.Sleep(time.Millisecond) {
					}
				})
			})
		}
	}
	cancel()
	writers.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	t.Logf("%d objects came, changed and went meanwhile", changed.Load())
}

func pages(t *testing.T, reader raygatev2.ClusterServiceClient, ns, order string, stable int, between func()) {
	seen, request := map[string]int{}, &raygatev2.ListClustersRequest{Namespace: ns, PageSize: int32(pick(20, 100)), OrderBy: order}
	for {
		page, err := reader.ListClusters(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.GetItems() {
			seen[item.GetMetadata().GetName()]++
		}
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			break
		}
		between()
	}
	found := 0
	for name, times := range seen {
		if times > 1 {
			t.Errorf("%s was seen %d times", name, times)
		}
		if strings.HasPrefix(name, "stable-") {
			found++
		}
	}
	if found != stable {
		t.Errorf("%d of the objects that stay were seen, want %d", found, stable)
	}
}
