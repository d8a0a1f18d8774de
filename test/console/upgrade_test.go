package console

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
)

// serviceYAML is a RayService that goes to a new cluster in steps.
func serviceYAML(ns, name string) string {
	return fmt.Sprintf(`apiVersion: ray.io/v1
kind: RayService
metadata:
  name: %s
  namespace: %s
spec:
  rayClusterDeletionDelaySeconds: 3
  serveConfigV2: 'applications: [{name: shop, import_path: "shop:app", route_prefix: /shop, deployments: [{name: Front, num_replicas: 1}]}]'
  upgradeStrategy:
    type: NewClusterWithIncrementalUpgrade
    clusterUpgradeOptions: {maxSurgePercent: 100, stepSizePercent: 25, intervalSeconds: 3, gatewayClassName: fake}
  rayClusterConfig:
    rayVersion: 2.52.0
    enableInTreeAutoscaling: true
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          containers:
          - name: ray-head
            image: rayproject/ray:2.52.0
            resources: {requests: {cpu: 10m, memory: 10Mi}}
`, name, ns)
}

// An upgrade in steps is seen as it happens: the shares of both clusters, one step after the other, until the new one has all.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	acceptRoutes(t, client.ObjectKey{Namespace: ns, Name: "shop"})
	create(t, serviceYAML(ns, "shop"))
	u := comesTo(t, stage.admin, "/ui/namespaces/"+ns+"/services/shop?tab=upgrade")
	u.expects("status of 404", "status of 503")
	u.findsState("Ready")
	u.sees("No upgrade is under way")
	u.looks("service-upgrade-none")

	service := &rayv1.RayService{}
	eventually(t, "a new version", func(ctx context.Context) error {
		if err := stage.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "shop"}, service); err != nil {
			return err
		}
		service.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Image = "rayproject/ray:2.53.0"
		return stage.Client.Update(ctx, service)
	})
	u.findsState("Upgrading")
	u.sees("25 % traffic")
	u.looks("service-upgrade")
	u.sees("50 % traffic", "75 % traffic", "100 % traffic") // steps stay in the table
	u.findsState("Ready")
	u.looks("service-upgraded")
	if streams := u.watches(); len(streams) != 1 {
		t.Errorf("the page has the watches %q open, want one", streams)
	}
	u.click("link", "Services")
	u.sees("shop", "1/1 running")
	u.looks("services")
}

// acceptRoutes plays an implementation of the Gateway API for one RayService, until the end of the test: it accepts all that it sees.
func acceptRoutes(t *testing.T, key client.ObjectKey) {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, plural := range []string{"gateways", "httproutes"} {
		file := filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "standard", "gateway.networking.k8s.io_"+plural+".yaml")
		for _, args := range [][]string{{"apply", "--server-side", "-f", file}, {"wait", "crd/" + plural + ".gateway.networking.k8s.io", "--for=condition=Established", "--timeout=60s"}} {
			cmd := exec.CommandContext(t.Context(), programs.Binary("k8s/kubectl"), args...)
			cmd.Env = append(os.Environ(), "KUBECONFIG="+stage.Env.Kubeconfig)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("kubectl %v: %v: %s", args, err, out)
			}
		}
	}
	scheme := runtime.NewScheme()
	if err := gatewayv1.Install(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(stage.Env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() {
		for ctx.Err() == nil {
			accept(ctx, c, key)
			time.Sleep(100 * time.Millisecond)
		}
	})
	t.Cleanup(func() { cancel(); ended.Wait() })
}

// accept does what an implementation does when an object has changed. What fails is done again with the next look.
func accept(ctx context.Context, c client.Client, key client.ObjectKey) {
	set := func(list *[]metav1.Condition, generation int64, kinds ...string) (changed bool) {
		for _, kind := range kinds {
			changed = meta.SetStatusCondition(list, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Accepted", ObservedGeneration: generation}) || changed
		}
		return changed
	}
	gateway := &gatewayv1.Gateway{}
	if c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name + "-gateway"}, gateway) == nil &&
		set(&gateway.Status.Conditions, gateway.Generation, string(gatewayv1.GatewayConditionAccepted), string(gatewayv1.GatewayConditionProgrammed)) {
		_ = c.Status().Update(ctx, gateway)
	}
	route := &gatewayv1.HTTPRoute{}
	if c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name + "-httproute"}, route) != nil {
		return
	}
	if len(route.Status.Parents) == 0 {
		route.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: route.Spec.ParentRefs[0], ControllerName: "example.com/fake"}}
	}
	if set(&route.Status.Parents[0].Conditions, route.Generation, string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteConditionResolvedRefs)) {
		_ = c.Status().Update(ctx, route)
	}
}
