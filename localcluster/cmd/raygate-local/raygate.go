package main

import (
	"context"
	"fmt"
	"time"

	"github.com/raygate/raygate/localcluster/internal/controlplane"
	"github.com/raygate/raygate/localcluster/internal/crds"
	"github.com/raygate/raygate/localcluster/internal/proc"
)

func (r *runner) installCRDs(ctx context.Context) error {
	dir := r.opts.crds
	if dir == "" {
		dir = r.paths.crds()
		if !exists(dir) && r.opts.withoutRaygate {
			r.out.printf("no CustomResourceDefinitions at %s", dir)
			return nil
		}
	}
	r.out.printf("installing CustomResourceDefinitions from %s", dir)
	if err := crds.Install(ctx, r.cp.Config, dir, func(name string) { r.out.printf("  %s", name) }); err != nil {
		return err
	}
	if updates := r.paths.updates(); dir == r.paths.crds() && exists(updates) {
		return crds.Install(ctx, r.cp.Config, updates, func(string) {})
	}
	return nil
}

// startRaygate starts the operator and the gateway in parallel and waits for both.
func (r *runner) startRaygate(ctx context.Context) error {
	local := func(name string) string { return fmt.Sprintf("127.0.0.1:%d", r.ports[name]) }
	store, err := r.startStore(ctx)
	if err != nil {
		return err
	}
	r.out.printf("starting the operator and the gateway")
	// They need the longest grace period, because they finish requests and reconciles.
	const grace = 4 * time.Second
	operator, err := r.group.Start(proc.Spec{
		Name: "raygate-operator", Path: r.paths.operator(), Log: r.paths.log("raygate-operator"), Env: store.env,
		Args: []string{
			"--kubeconfig", r.cp.Kubeconfig,
			"--metrics-bind-address=" + local(portOperatorMetrics),
			"--health-probe-bind-address=" + local(portOperatorProbes),
			"--leader-elect=false",
			"--use-kubernetes-proxy", // the API server reaches Pods; programs on this machine do not
			"--feature-gates=RayCronJob=true",
			store.flag,
		},
	}, controlplane.LayerPrograms, grace)
	if err != nil {
		return err
	}
	authentication, err := r.startLogin(ctx)
	if err != nil {
		return err
	}
	gateway, err := r.group.Start(proc.Spec{
		Name: "raygate-apiserver", Path: r.paths.gateway(), Log: r.paths.log("raygate-apiserver"), Env: store.env,
		Args: append(authentication,
			"--kubeconfig", r.cp.Kubeconfig,
			"--grpc-address="+local(portGatewayGRPC),
			"--http-address="+local(portGatewayHTTP),
			"--metrics-address="+local(portGatewayMetrics),
			"--use-kubernetes-proxy",
			store.flag,
			"--package-url=http://"+local(portGatewayHTTP), // simulated Ray runs on this machine
		),
	}, controlplane.LayerPrograms, grace)
	if err != nil {
		return err
	}
	wait := controlplane.Wait{Process: operator, For: "operator", Limit: controlplane.StartLimit, Progress: r.out.printf}
	if err := wait.UntilHTTP(ctx, "http://"+local(portOperatorProbes)+"/readyz"); err != nil {
		return err
	}
	wait.Process, wait.For = gateway, "gateway"
	return wait.UntilHTTP(ctx, "http://"+local(portGatewayHTTP)+"/readyz")
}
