package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// The page shows what a cluster requested once it is deleted, and another one how it was at its end.
func TestUsage(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	u := comesTo(t, stage.admin, "/ui/usage")
	u.sees("Select a namespace")
	create(t, strings.Replace(clusterYAML(ns, "demo", 1), "metadata:", "metadata:\n  labels: {"+rayv1.LabelUser+": jane}", 1))
	var rc *rayv1.RayCluster
	eventually(t, "a ready cluster", func(ctx context.Context) (err error) {
		if rc, err = getCluster(ctx, ns, "demo"); err == nil && rc.Status.State != rayv1.ClusterStateReady {
			err = fmt.Errorf("it is %s", rc.Status.State)
		}
		return err
	})
	u.goTo("/ui/clusters?namespace=" + ns)
	u.click("link", "Usage")
	u.isAt("/ui/usage")
	u.sees("No cluster was deleted") // those that run do not count
	u.must(stage.Client.Delete(t.Context(), rc))
	eventually(t, "its usage", func(ctx context.Context) error { return hasUsage(ctx, ns) })
	u.click("button", "Refresh")
	u.hasRows("jane")
	u.sees("CPU hours", "Memory, GiB hours")
	u.looks("usage")
	u.goTo("/ui/usage?by=queue&namespace=" + ns)
	u.hasRows("none")

	u.click("link", "Past")
	u.must(u.page.Choose("Kind", "Clusters"))
	u.click("link", "demo")
	u.sees("ready", "there is no such object any more", "HeadPodReady", "Worker groups", "jane")
	u.looks("record-cluster")
}

// hasUsage returns an error until a cluster of a namespace counts.
func hasUsage(ctx context.Context, ns string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, stage.URL+"/apis/v2/namespaces/"+ns+"/usage", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+stage.admin)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var got struct {
		Items []struct{ CPUSeconds float64 }
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		return err
	}
	if len(got.Items) != 1 || got.Items[0].CPUSeconds <= 0 {
		return fmt.Errorf("the usage is %v", got.Items)
	}
	return nil
}
