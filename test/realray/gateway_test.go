package realray

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
)

// nodeAddress is this machine on the network of the nodes. The Gateways of all RayServices listen there.
const nodeAddress = "10.244.0.1"

const gatewayClass = "traefik"

// A RayService goes to another cluster in steps: an implementation of the Gateway API, Traefik, leads requests by the weights of the HTTPRoute. No
// request fails, by the Gateway or by the Service, and no gRPC request by the GRPCRoute.
func TestServiceInSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startTraefik()
	spec := clusterSpec(1)
	spec.EnableInTreeAutoscaling = new(true)
	release(&spec, "one")
	spec.HeadGroupSpec.Template.Spec.Containers[0].Ports = portsWithGRPC()
	svc := &rayv1.RayService{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: w.ns, Annotations: map[string]string{rayv1.AnnotationGRPCRoute: "true"}},
		Spec: rayv1.RayServiceSpec{
			RayClusterSpec: spec, ServeConfigV2: serveConfig("good morning") + grpcOptions, RayClusterDeletionDelaySeconds: new(int32(20)),
			UpgradeStrategy: &rayv1.RayServiceUpgradeStrategy{
				Type: new(rayv1.RayServiceNewClusterWithIncrementalUpgrade),
				ClusterUpgradeOptions: &rayv1.ClusterUpgradeOptions{
					MaxSurgePercent: new(int32(100)), StepSizePercent: new(int32(50)), IntervalSeconds: new(int32(10)), GatewayClassName: gatewayClass,
				},
			},
		},
	}
	w.create(svc)
	first := w.serviceReady(svc)
	w.eventually("the Gateway leads to the service", func(ctx context.Context) error {
		if err := product.client.Get(ctx, client.ObjectKeyFromObject(svc), svc); err != nil {
			return err
		}
		c := meta.FindStatusCondition(svc.Status.Conditions, rayv1.RayServiceGatewayReady)
		if c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, nodeAddress) {
			return fmt.Errorf("condition %+v", c)
		}
		return nil
	})
	byGateway, byService := w.load("http://"+nodeAddress+"/"), w.load(w.serviceURL("demo-serve-svc"))
	for _, l := range []*load{byGateway, byService} {
		l.waitFor(w, said{"good morning", "one"})
		l.forgive()
	}
	byGRPC := w.loadGRPC(fmt.Sprintf("%s:%d", nodeAddress, grpcPort))
	byGRPC.waitFor(w, healthy)
	byGRPC.forgive()

	steps := w.watchSteps("demo", byGateway)
	w.update(svc, func() { release(&svc.Spec.RayClusterSpec, "two") })
	for _, l := range []*load{byGateway, byService} {
		l.waitFor(w, said{"good morning", "two"})
	}
	w.oldClusterGone(first)
	steps.stop()
	if got := strings.Join(steps.shares, " "); got != "0 50 100" {
		t.Errorf("the new cluster had %s percent of the traffic, want 0 50 100", got)
	}
	t.Logf("answers while the new cluster had half of the traffic: %+v", steps.atHalf)
	for _, answer := range []said{{"good morning", "one"}, {"good morning", "two"}} {
		if steps.atHalf[answer] == 0 {
			t.Errorf("nobody has answered %+v while both clusters had half of the traffic", answer)
		}
	}
	for what, l := range map[string]*load{"the Gateway": byGateway, "the Service": byService, "the GRPCRoute": byGRPC} {
		good, failures := l.stop()
		t.Logf("%d requests by %s were answered", good, what)
		for _, failure := range failures {
			t.Errorf("a request by %s failed: %s", what, failure)
		}
	}
	w.run("a canary that fails", func(w *world) { w.canaryFails(svc, "http://"+nodeAddress+"/") })
}

// steps are the shares of the traffic that the newer of two clusters had, in percent, and what was answered in the middle.
type steps struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	shares []string
	before map[said]int
	atHalf map[said]int
}

// watchSteps follows the HTTPRoute of a service.
func (w *world) watchSteps(service string, l *load) *steps {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &steps{cancel: cancel}
	w.t.Cleanup(s.stop)
	changes, err := product.client.Watch(ctx, &gatewayv1.HTTPRouteList{}, &client.ListOptions{
		Namespace: w.ns, FieldSelector: fields.OneTermEqualSelector("metadata.name", service+"-httproute"),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	s.done.Go(func() {
		defer changes.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case e, ok := <-changes.ResultChan():
				if !ok {
					w.t.Errorf("the watch of the HTTPRoute has ended")
					return
				}
				if route, ok := e.Object.(*gatewayv1.HTTPRoute); ok {
					s.saw(route, l)
				}
			}
		}
	})
	return s
}

func (s *steps) saw(route *gatewayv1.HTTPRoute, l *load) {
	backends := route.Spec.Rules[0].BackendRefs
	if len(backends) != 2 {
		return
	}
	share, last := fmt.Sprint(*backends[1].Weight), ""
	if len(s.shares) > 0 {
		last = s.shares[len(s.shares)-1]
	}
	if share == last {
		return
	}
	s.shares = append(s.shares, share)
	now := l.total()
	if last == "50" {
		s.atHalf = map[said]int{}
		for answer, n := range now {
			s.atHalf[answer] = n - s.before[answer]
		}
	}
	s.before = now
}

func (s *steps) stop() {
	s.cancel()
	s.done.Wait()
}

// startTraefik serves the Gateway API, and runs Traefik for it until the test ends.
func (w *world) startTraefik() {
	w.t.Helper()
	w.installGatewayAPI()
	class := &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: gatewayClass}, Spec: gatewayv1.GatewayClassSpec{ControllerName: "traefik.io/gateway-controller"},
	}
	if err := product.client.Create(w.t.Context(), class); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
	ports, err := programs.FreePorts(1)
	if err != nil {
		w.t.Fatal(err)
	}
	own := fmt.Sprintf("127.0.0.1:%d", ports[0])
	kubeconfig, err := filepath.Abs(product.kubeconfig)
	if err != nil {
		w.t.Fatal(err)
	}
	traefik := &programs.Program{
		Path: programs.Binary("node/traefik"), Log: filepath.Join(product.dir, "logs", "test-traefik.log"), Ready: "http://" + own + "/ping",
		Env: []string{"KUBECONFIG=" + kubeconfig},
		Args: []string{
			"--providers.kubernetesgateway=true", "--providers.kubernetesgateway.statusaddress.ip=" + nodeAddress,
			"--entrypoints.web.address=" + nodeAddress + ":80", fmt.Sprintf("--entrypoints.grpc.address=%s:%d", nodeAddress, grpcPort), "--entrypoints.traefik.address=" + own, "--ping=true",
			"--global.checknewversion=false", "--global.sendanonymoususage=false", "--log.level=INFO",
		},
	}
	if err := traefik.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		traefik.Stop()
		if w.t.Failed() {
			w.t.Logf("end of the log of Traefik:\n%s", traefik.Tail(6000))
		}
	})
}

// installGatewayAPI serves the kinds of the Gateway API by its own definitions.
func (w *world) installGatewayAPI() {
	w.t.Helper()
	dir, err := exec.CommandContext(w.t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		w.t.Fatalf("finding the module of the Gateway API: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "standard", "*.yaml"))
	if err != nil || len(files) == 0 {
		w.t.Fatalf("no definitions in %s: %v", dir, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, crd); err != nil {
			w.t.Fatalf("%s: %v", file, err)
		}
		if crd.Kind != "CustomResourceDefinition" {
			continue // the policy that guards them
		}
		if err := product.client.Create(w.t.Context(), crd); err != nil && !apierrors.IsAlreadyExists(err) {
			w.t.Fatalf("%s: %v", file, err)
		}
	}
	w.eventually("the Gateway API is served", func(ctx context.Context) error {
		return errors.Join(
			product.client.List(ctx, &gatewayv1.GatewayClassList{}), product.client.List(ctx, &gatewayv1.GatewayList{}), product.client.List(ctx, &gatewayv1.HTTPRouteList{}),
		)
	})
}
