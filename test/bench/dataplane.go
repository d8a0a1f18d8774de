package main

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
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

// planeLag is how much later than the API server the data plane learns of weights.
const planeLag = 500 * time.Millisecond

// installGatewayAPI creates the CRDs of the Gateway API that raygate uses, out of the Go module.
func (s *session) installGatewayAPI(ctx context.Context) error {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		return fmt.Errorf("looking for the module of the Gateway API: %w", err)
	}
	for _, plural := range []string{"gateways", "httproutes"} {
		file := filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "standard", "gateway.networking.k8s.io_"+plural+".yaml")
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading CRD: %w", err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &crd); err != nil {
			return fmt.Errorf("decoding %s: %w", file, err)
		}
		if err := s.client.Create(ctx, &crd); err != nil {
			return fmt.Errorf("installing %s: %w", file, err)
		}
	}
	return s.eventually(ctx, "the Gateway API to be served", 30*time.Second, func(ctx context.Context) error {
		return errors.Join(s.client.List(ctx, &gatewayv1.GatewayList{}), s.client.List(ctx, &gatewayv1.HTTPRouteList{}))
	})
}

// dataPlane replaces an implementation of the Gateway API, for one RayService: it accepts the Gateway and the HTTPRoute as soon as it sees
// them, and selects backends by the weights that the HTTPRoute had a moment ago.
type dataPlane struct {
	mu       sync.Mutex
	weights  map[string]int32 // by Service
	share    string           // of the newer cluster, in percent
	stopping context.CancelFunc
	ended    sync.WaitGroup
}

func (s *session) newDataPlane(ctx context.Context, service client.ObjectKey) *dataPlane {
	d := &dataPlane{}
	ctx, d.stopping = context.WithCancel(ctx)
	d.ended.Go(func() {
		for ctx.Err() == nil {
			d.look(ctx, s.client, service)
			_ = pause(ctx, 50*time.Millisecond)
		}
	})
	return d
}

func (d *dataPlane) stop() {
	d.stopping()
	d.ended.Wait()
}

// look writes the status that an implementation writes. The next call repeats failed writes.
func (d *dataPlane) look(ctx context.Context, c client.Client, service client.ObjectKey) {
	gateway, route := &gatewayv1.Gateway{}, &gatewayv1.HTTPRoute{}
	if c.Get(ctx, client.ObjectKey{Namespace: service.Namespace, Name: service.Name + "-gateway"}, gateway) == nil &&
		accept(&gateway.Status.Conditions, gateway.Generation, string(gatewayv1.GatewayConditionAccepted), string(gatewayv1.GatewayConditionProgrammed)) {
		_ = c.Status().Update(ctx, gateway)
	}
	if c.Get(ctx, client.ObjectKey{Namespace: service.Namespace, Name: service.Name + "-httproute"}, route) != nil {
		return
	}
	if len(route.Status.Parents) == 0 {
		route.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: route.Spec.ParentRefs[0], ControllerName: "example.com/bench"}}
	}
	if accept(&route.Status.Parents[0].Conditions, route.Generation, string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteConditionResolvedRefs)) {
		_ = c.Status().Update(ctx, route)
	}
	weights, share := weightsOf(route)
	time.AfterFunc(planeLag, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.weights, d.share = weights, share
	})
}

// accept sets conditions, and reports whether they were not set yet.
func accept(list *[]metav1.Condition, generation int64, kinds ...string) (changed bool) {
	for _, kind := range kinds {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Accepted", ObservedGeneration: generation}
		changed = meta.SetStatusCondition(list, c) || changed
	}
	return changed
}

// weightsOf are the weights of an HTTPRoute by Service, and the share of the newer cluster, empty while there is one cluster.
func weightsOf(route *gatewayv1.HTTPRoute) (weights map[string]int32, share string) {
	weights = map[string]int32{}
	for i, b := range route.Spec.Rules[0].BackendRefs {
		weights[string(b.Name)] = 1
		if b.Weight != nil {
			weights[string(b.Name)] = *b.Weight
		}
		if i == 1 {
			share = fmt.Sprintf("%d percent", weights[string(b.Name)])
		}
	}
	return weights, share
}

// pick chooses the Service of a request by the weights; its label is the share of the newer cluster.
func (d *dataPlane) pick() goal {
	d.mu.Lock()
	defer d.mu.Unlock()
	names, sum := []string{}, int32(0)
	for name, weight := range d.weights {
		names = append(names, name)
		sum += weight
	}
	label := d.share
	if label == "" {
		label = "one cluster"
	}
	if sum == 0 {
		return goal{"no-backend", label}
	}
	slices.Sort(names)
	at := rand.Int32N(sum) //nolint:gosec // no secret
	for _, name := range names {
		if at -= d.weights[name]; at < 0 {
			return goal{name, label}
		}
	}
	return goal{"no-backend", label} // not reached: the weights sum up
}

// knows returns an error unless the data plane has a backend.
func (d *dataPlane) knows(context.Context) error {
	if d.pick().service == "no-backend" {
		return errors.New("there is none")
	}
	return nil
}
