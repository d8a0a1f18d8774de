package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/internal/testing/suite"
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
	ctx, cancel := context.WithTimeout(t.Context(), settle)
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

// The operator is killed again and again while traffic goes over to a new cluster. Each comes back knowing nothing.
func TestServiceWhileTheOperatorCrashes(t *testing.T) {
	suite.All(t, "the kill stories of the controller of RayServices cover each write of the operator")
	ns := namespace(t)
	kubectl(t, rayService("demo", ns, "one", nil, nil), "create", "-f", "-")
	first := awaitService(t, ns, "demo", "is ready", isServing)
	answers(t, ns, "demo-serve-svc", "one")
	deployed := deployedAt(t, ns, activeOf(first))
	requests := sendRequests(t, ns, func() string { return "demo-serve-svc" })

	crash := func() {
		product.operator.Kill()
		if err := product.operator.Start(); err != nil {
			t.Fatal(err)
		}
	}
	editService(t, ns, "demo", func(s *rayv1.RayServiceSpec) { newImage("2.53.0")(s); s.ServeConfigV2 = serveConfig("two") })
	awaitService(t, ns, "demo", "names a new cluster", func(rs *rayv1.RayService) bool { return rs.Status.PendingServiceStatus.RayClusterName != "" })
	crash()
	awaitService(t, ns, "demo", "has sent the configuration", func(rs *rayv1.RayService) bool { return len(rs.Status.PendingServiceStatus.Applications) > 0 })
	crash()
	eventually(t, "the Service to be switched", func(ctx context.Context) error {
		svc := &corev1.Service{}
		if err := product.client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "demo-serve-svc"}, svc); err != nil {
			return err
		}
		if svc.Spec.Selector[rayv1.LabelCluster] == activeOf(first) {
			return fmt.Errorf("it leads to %s", activeOf(first))
		}
		return nil
	})
	if got := deployedAt(t, ns, activeOf(first)); got != deployed {
		t.Errorf("the old cluster got a configuration at %f, its own is of %f", got, deployed)
	}
	crash()
	second := awaitService(t, ns, "demo", "is upgraded", isOnAnother(first))
	answers(t, ns, "demo-serve-svc", "two")
	clusterGone(t, ns, activeOf(first))
	requests.noneLost(t)
	clusters := &rayv1.RayClusterList{}
	if err := product.client.List(t.Context(), clusters, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	if len(clusters.Items) != 1 || clusters.Items[0].Name != activeOf(second) {
		t.Errorf("%d clusters at the end, the active one is %s", len(clusters.Items), activeOf(second))
	}
}

// The head is lost at once. Without fault tolerance Ray Serve goes with it, and gets its configuration again; with it nothing is sent, and
// workers answer all the while.
func TestServiceLosesItsHead(t *testing.T) {
	cases := map[string]struct {
		spec, cluster []string
		kept          bool
	}{
		"without fault tolerance": {},
		"with fault tolerance": {
			spec: []string{"excludeHeadPodFromServeSvc: true"}, cluster: []string{`gcsFaultToleranceOptions: {redisAddress: "redis:6379"}`}, kept: true,
		},
		"with a token": {cluster: []string{"authOptions: {mode: token}"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := namespace(t)
			kubectl(t, rayService("demo", ns, "one", tc.spec, tc.cluster), "create", "-f", "-")
			before := awaitService(t, ns, "demo", "is ready", isServing)
			answers(t, ns, "demo-serve-svc", "one")
			var sent int
			eventually(t, "the event of the configuration", func(context.Context) error { // events come later than what they tell
				if sent = sentConfigs(t, ns); sent == 0 {
					return errors.New("there is none")
				}
				return nil
			})
			requests := sendRequests(t, ns, func() string { return "demo-serve-svc" })
			head := headPod(t, ns, activeOf(before))
			kubectl(t, nil, "delete", "pod", head.Name, "-n", ns, "--force", "--grace-period=0")
			eventually(t, "another head", func(context.Context) error {
				if got := headPod(t, ns, activeOf(before)); got == nil || got.UID == head.UID || !podReady(got) {
					return fmt.Errorf("there is %v", got)
				}
				return nil
			})
			if tc.kept {
				time.Sleep(5 * time.Second) // as long as the operator would take
				requests.noneLost(t)
			} else {
				requests.stop()
				eventually(t, "the configuration to be sent again", func(context.Context) error {
					if n := sentConfigs(t, ns); n <= sent {
						return fmt.Errorf("it was sent %d times", n)
					}
					return nil
				})
			}
			answers(t, ns, "demo-serve-svc", "one")
			after := awaitService(t, ns, "demo", "is ready again", isServing)
			if activeOf(after) != activeOf(before) {
				t.Errorf("cluster %s in place of %s", activeOf(after), activeOf(before))
			}
			if n := sentConfigs(t, ns); tc.kept && n != sent {
				t.Errorf("%d configurations were sent to a Serve that had its own, %d before", n, sent)
			}
		})
	}
}

// headPod is the head of a cluster; nil for none.
func headPod(t *testing.T, ns, cluster string) *corev1.Pod {
	t.Helper()
	pods := &corev1.PodList{}
	err := product.client.List(t.Context(), pods, client.InNamespace(ns), client.MatchingLabels{rayv1.LabelCluster: cluster, rayv1.LabelNodeType: string(rayv1.HeadNode)})
	if err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 1 {
		return nil
	}
	return &pods.Items[0]
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// sentConfigs is how often the operator has told that Ray has taken a configuration.
func sentConfigs(t *testing.T, ns string) int {
	t.Helper()
	var list struct {
		Items []struct {
			Reason string
			Series *struct{ Count int }
		}
	}
	if err := json.Unmarshal([]byte(kubectl(t, nil, "get", "events.events.k8s.io", "-n", ns, "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range list.Items {
		switch {
		case e.Reason != "UpdatedServeApplications":
		case e.Series != nil:
			n += e.Series.Count
		default:
			n++
		}
	}
	return n
}

// deployedAt is when Ray on a cluster has taken a configuration last, as it tells.
func deployedAt(t *testing.T, ns, cluster string) float64 {
	t.Helper()
	resp, err := get(t.Context(), ns, cluster+"-head-svc", 8265, "/api/serve/applications/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var details struct {
		Applications map[string]struct {
			At float64 `json:"last_deployed_time_s"`
		}
	}
	if err := json.Unmarshal(data, &details); err != nil || len(details.Applications) != 1 {
		t.Fatalf("details %s: %v", data, err)
	}
	return details.Applications["shop"].At
}
