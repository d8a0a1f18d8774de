package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// lag is how much later than the API server a data plane learns of weights.
const lag = 300 * time.Millisecond

// dataPlane plays an implementation of the Gateway API for one RayService: it accepts what it sees, and picks backends by the weights of the
// HTTPRoute.
type dataPlane struct {
	mu      sync.Mutex
	weights map[string]int32 // by Service
	shares  []string         // of the newer cluster, in their order
}

// installGatewayAPI serves the kinds of the Gateway API by its own definitions. The client reads from a cache, which lives as long as the test.
func installGatewayAPI(t *testing.T) client.Client {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, plural := range []string{"gateways", "httproutes", "grpcroutes"} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "standard", "gateway.networking.k8s.io_"+plural+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the CRD of "+plural, func(context.Context) error { // a busy API server has no time for it at first, and kubectl wait fails while there are no conditions at all
			if _, stderr, code := command(t, text, "k8s/kubectl", "apply", "--server-side", "-f", "-"); code != 0 {
				return errors.New(stderr)
			}
			if _, stderr, code := command(t, nil, "k8s/kubectl", "wait", "crd/"+plural+".gateway.networking.k8s.io", "--for=condition=Established", "--timeout=60s"); code != 0 {
				return errors.New(stderr)
			}
			return nil
		})
	}
	scheme := runtime.NewScheme()
	if err := gatewayv1.Install(scheme); err != nil {
		t.Fatal(err)
	}
	reader, err := cache.New(product.env.Config, cache.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	ended.Go(func() { _ = reader.Start(t.Context()) })
	t.Cleanup(ended.Wait)
	c, err := client.New(product.env.Config, client.Options{Scheme: scheme, Cache: &client.CacheOptions{Reader: reader}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newDataPlane runs until the end of the test.
func newDataPlane(t *testing.T, c client.Client, key client.ObjectKey) *dataPlane {
	t.Helper()
	d := &dataPlane{}
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() {
		for ctx.Err() == nil {
			d.look(ctx, c, key)
			time.Sleep(50 * time.Millisecond)
		}
	})
	t.Cleanup(func() { cancel(); ended.Wait() })
	return d
}

// look does what an implementation does when an object has changed. What fails is done again with the next look.
func (d *dataPlane) look(ctx context.Context, c client.Client, key client.ObjectKey) {
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
	grpc := &gatewayv1.GRPCRoute{}
	if c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: key.Name + "-grpcroute"}, grpc) == nil {
		if len(grpc.Status.Parents) == 0 {
			grpc.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: grpc.Spec.ParentRefs[0], ControllerName: "example.com/fake"}}
		}
		if set(&grpc.Status.Parents[0].Conditions, grpc.Generation, string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteConditionResolvedRefs)) {
			_ = c.Status().Update(ctx, grpc)
		}
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
	weights, share := map[string]int32{}, ""
	for i, b := range route.Spec.Rules[0].BackendRefs {
		weights[string(b.Name)] = *b.Weight
		if i == 1 {
			share = fmt.Sprint(*b.Weight)
		}
	}
	time.AfterFunc(lag, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.weights = weights
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	if share != "" && (len(d.shares) == 0 || d.shares[len(d.shares)-1] != share) {
		d.shares = append(d.shares, share)
	}
}

// pick is a Service for one request.
func (d *dataPlane) pick() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := rand.Int32N(100) //nolint:gosec // no secret
	names := make([]string, 0, len(d.weights))
	for name := range d.weights {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if at -= d.weights[name]; at < 0 {
			return name
		}
	}
	return "nobody"
}

// takeShares returns the shares of the newer cluster so far, and begins anew.
func (d *dataPlane) takeShares() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() { d.shares = nil }()
	return strings.Join(d.shares, " ")
}

// The traffic moves to a new cluster in steps, and back from the middle of it. Neither those who come by the Gateway lose a request, nor those
// who know the Service only.
func TestServiceInSteps(t *testing.T) {
	t.Parallel()
	c := installGatewayAPI(t)
	ns := namespace(t)
	d := newDataPlane(t, c, client.ObjectKey{Namespace: ns, Name: "demo"})
	strategy := []string{"upgradeStrategy:", "  type: NewClusterWithIncrementalUpgrade", "  clusterUpgradeOptions: {maxSurgePercent: 100, stepSizePercent: 50, intervalSeconds: 15, gatewayClassName: fake}"}
	rest(t, "POST", servicesOf(ns), "application/yaml", rayService("demo", ns, "one", strategy, []string{"enableInTreeAutoscaling: true"})).want(t, 201)
	first := awaitService(t, ns, "demo", "is ready", isServing)
	eventually(t, "the route", func(context.Context) error {
		if d.pick() == "nobody" {
			return fmt.Errorf("there is none")
		}
		return nil
	})
	byGateway, byService := sendRequests(t, ns, d.pick), sendRequests(t, ns, func() string { return "demo-serve-svc" })

	d.takeShares()
	editService(t, ns, "demo", func(s *rayv1.RayServiceSpec) { newImage("2.53.0")(s); s.ServeConfigV2 = serveConfig("two") })
	second := awaitService(t, ns, "demo", "is upgraded", isOnAnother(first))
	if got := d.takeShares(); got != "0 50 100" {
		t.Errorf("the new cluster had %s percent of the traffic", got)
	}
	answers(t, ns, "demo-serve-svc", "two")
	clusterGone(t, ns, activeOf(first))
	d.takeShares()

	editService(t, ns, "demo", newImage("2.54.0"))
	awaitService(t, ns, "demo", "is half way", func(rs *rayv1.RayService) bool {
		share := rs.Status.PendingServiceStatus.TrafficRoutedPercent
		return share != nil && *share >= 50
	})
	editService(t, ns, "demo", newImage("2.53.0"))
	back := awaitService(t, ns, "demo", "is rolled back", isServing)
	if activeOf(back) != activeOf(second) || meta.IsStatusConditionTrue(back.Status.Conditions, rayv1.RayServiceRollbackInProgress) {
		t.Errorf("back on %s, before it was %s: %+v", activeOf(back), activeOf(second), back.Status.Conditions)
	}
	if got := d.takeShares(); !strings.HasPrefix(got, "0 50 ") || !strings.HasSuffix(got, " 0") {
		t.Errorf("the new cluster had %s percent of the traffic", got)
	}
	eventually(t, "the end of the cluster that was not to be", func(ctx context.Context) error {
		list := &rayv1.RayClusterList{}
		if err := product.client.List(ctx, list, client.InNamespace(ns)); err != nil {
			return err
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("there are %d clusters", len(list.Items))
		}
		return nil
	})
	byGateway.noneLost(t)
	byService.noneLost(t)
}
