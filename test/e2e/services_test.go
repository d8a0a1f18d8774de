package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/programs"
)

// rayService is a RayService as YAML with one application, on a head and two workers. More lines of its spec, and of the spec of its cluster,
// may follow.
func rayService(name, ns, answer string, spec, cluster []string) []byte {
	config, _ := json.Marshal(serveConfig(answer)) //nolint:errchkjson // a string
	spec = append([]string{"rayClusterDeletionDelaySeconds: 8", "serveConfigV2: " + string(config)}, spec...)
	cluster = append([]string{"rayVersion: 2.52.0"}, cluster...)
	return fmt.Appendf(nil, `apiVersion: ray.io/v1
kind: RayService
metadata:
  name: %s
  namespace: %s
spec:
  %s
  rayClusterConfig:
    %s
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          containers:
          - name: ray-head
            image: rayproject/ray:2.52.0
            resources: {requests: {cpu: 10m, memory: 10Mi}}
    workerGroupSpecs:
    - groupName: cpu
      replicas: 2
      minReplicas: 2
      maxReplicas: 4
      rayStartParams: {}
      template:
        spec:
          containers:
          - name: ray-worker
            image: rayproject/ray:2.52.0
            resources: {requests: {cpu: 10m, memory: 10Mi}}
`, name, ns, strings.Join(spec, "\n  "), strings.Join(cluster, "\n    "))
}

// serveConfig is one of an application that answers at /shop.
func serveConfig(answer string) string {
	return fmt.Sprintf(`applications: [{name: shop, import_path: "shop:app", route_prefix: /shop, deployments: [{name: Front, num_replicas: 2, user_config: {answer: %s}}]}]`, answer)
}

func servicesOf(namespace string) string { return "/apis/v2/namespaces/" + namespace + "/services" }

// awaitService waits until a RayService is as it should be, and returns it.
func awaitService(t *testing.T, ns, name, what string, ok func(*rayv1.RayService) bool) *rayv1.RayService {
	t.Helper()
	rs := &rayv1.RayService{}
	eventually(t, ns+"/"+name+" "+what, func(ctx context.Context) error {
		if err := product.client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, rs); err != nil {
			return err
		}
		if !ok(rs) {
			return fmt.Errorf("generation %d, status %+v", rs.Generation, rs.Status)
		}
		return nil
	})
	return rs
}

// isServing is a service that is ready as its spec wants it, without an upgrade.
func isServing(rs *rayv1.RayService) bool {
	return meta.IsStatusConditionTrue(rs.Status.Conditions, rayv1.RayServiceReady) && rs.Status.PendingServiceStatus.RayClusterName == "" &&
		rs.Status.ActiveServiceStatus.RayClusterName != "" && rs.Status.ObservedGeneration == rs.Generation
}

// isOn is one that is served by another cluster than before.
func isOnAnother(before *rayv1.RayService) func(*rayv1.RayService) bool {
	return func(rs *rayv1.RayService) bool { return isServing(rs) && activeOf(rs) != activeOf(before) }
}

func activeOf(rs *rayv1.RayService) string { return rs.Status.ActiveServiceStatus.RayClusterName }

func editService(t *testing.T, ns, name string, edit func(*rayv1.RayServiceSpec)) {
	t.Helper()
	eventually(t, "changing "+name, func(ctx context.Context) error {
		rs := &rayv1.RayService{}
		if err := product.client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, rs); err != nil {
			return err
		}
		edit(&rs.Spec)
		return product.client.Update(ctx, rs)
	})
}

func newImage(tag string) func(*rayv1.RayServiceSpec) {
	return func(s *rayv1.RayServiceSpec) {
		s.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Image = "rayproject/ray:" + tag
	}
}

// answers waits until the application behind a Service gives this answer.
func answers(t *testing.T, ns, service, want string) {
	t.Helper()
	eventually(t, service+" answers "+want, func(ctx context.Context) error {
		got, err := ask(ctx, ns, service)
		if err == nil && got != want {
			err = fmt.Errorf("the answer is %q", got)
		}
		return err
	})
}

func clusterGone(t *testing.T, ns, name string) {
	t.Helper()
	eventually(t, "the end of RayCluster "+name, func(ctx context.Context) error {
		err := product.client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &rayv1.RayCluster{})
		if err == nil {
			return fmt.Errorf("it is still there")
		}
		return client.IgnoreNotFound(err)
	})
}

// A service is posted, answers, changes in place and by another cluster, sleeps, wakes and goes without a trace.
func TestService(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	rest(t, "POST", servicesOf(ns), "application/yaml", rayService("demo", ns, "one", nil, nil)).want(t, 201)
	rest(t, "GET", servicesOf(ns)+"/demo:wait?for=ready&timeout=150s", "", nil).want(t, 200)
	first := awaitService(t, ns, "demo", "is ready", isServing)
	answers(t, ns, "demo-serve-svc", "one")
	if got := throughPortForward(t, ns, "service/demo-serve-svc"); got != "one" {
		t.Errorf("through a forwarded port the answer is %q", got)
	}
	requests := sendRequests(t, ns, func() string { return "demo-serve-svc" })

	patch, _ := json.Marshal(map[string]any{"spec": map[string]any{"serveConfigV2": serveConfig("two")}}) //nolint:errchkjson // strings
	kubectl(t, nil, "patch", "rayservice", "demo", "-n", ns, "--type=merge", "-p", string(patch))
	answers(t, ns, "demo-serve-svc", "two")
	if second := awaitService(t, ns, "demo", "is up to date", isServing); activeOf(second) != activeOf(first) {
		t.Errorf("a new configuration came with cluster %s in place of %s", activeOf(second), activeOf(first))
	}

	editService(t, ns, "demo", func(s *rayv1.RayServiceSpec) { newImage("2.53.0")(s); s.ServeConfigV2 = serveConfig("three") })
	upgraded := awaitService(t, ns, "demo", "is upgraded", isOnAnother(first))
	switched := meta.FindStatusCondition(upgraded.Status.Conditions, rayv1.RayServiceUpgradeInProgress).LastTransitionTime
	answers(t, ns, "demo-serve-svc", "three")
	if got, err := ask(t.Context(), ns, activeOf(first)+"-head-svc"); got != "two" || err != nil {
		t.Errorf("the old cluster answers %q, %v", got, err)
	}
	clusterGone(t, ns, activeOf(first))
	if d := time.Since(switched.Time); d < 8*time.Second { // a late observer sees a longer time, never a shorter one
		t.Errorf("the old cluster was gone %s after the switch", d)
	}
	requests.noneLost(t)

	rest(t, "POST", servicesOf(ns)+"/demo:suspend", "", nil).want(t, 200)
	rest(t, "GET", servicesOf(ns)+"/demo:wait?for=suspended&timeout=150s", "", nil).want(t, 200)
	if left := strings.Fields(kubectl(t, nil, "get", "rayclusters,services", "-n", ns, "-o", "name")); len(left) > 0 {
		t.Errorf("left of a suspended service: %v", left)
	}
	rest(t, "POST", servicesOf(ns)+"/demo:resume", "", nil).want(t, 200)
	resumed := awaitService(t, ns, "demo", "is ready again", isServing)
	answers(t, ns, "demo-serve-svc", "three")
	if activeOf(resumed) == activeOf(upgraded) {
		t.Error("the cluster of before the suspension is back")
	}
	rest(t, "DELETE", servicesOf(ns)+"/demo", "", nil).want(t, 200)
	nothingLeft(t, ns)
}

// throughPortForward asks the application as a user does on a laptop.
func throughPortForward(t *testing.T, ns, target string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, programs.Binary("k8s/kubectl"), "--kubeconfig", product.env.Kubeconfig, "port-forward", "-n", ns, "--address=127.0.0.1", target, ":8000")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	port := regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindStringSubmatch(line)
	if port == nil {
		t.Fatalf("no port in %q", line)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+port[1]+"/shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAnswer(resp)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
