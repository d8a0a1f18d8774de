package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

const (
	// shop is the application of the RayServices here; it answers at /shop.
	shop = "shop"
	// serviceWorkers is the number of workers of a service that gets requests.
	serviceWorkers = 3
	// stepLimit is for one change of a service.
	stepLimit = 3 * time.Minute
)

// services counts the requests that are lost while clusters are replaced, workers are removed and processes die, and then the cost of idle
// services.
func services(ctx context.Context, s *session) error {
	const namespace = "bench"
	if err := s.namespace(ctx, namespace); err != nil {
		return err
	}
	if err := s.installGatewayAPI(ctx); err != nil {
		return err
	}
	proxy, err := newCountingProxy(s.config)
	if err != nil {
		return err
	}
	defer proxy.close()
	questions := &questions{}
	proxy.note = questions.note
	if _, err := s.startOperatorBehind(ctx, proxy, "--use-kubernetes-proxy"); err != nil {
		return err
	}
	if err := s.lostRequests(ctx, namespace, questions); err != nil {
		return err
	}
	return s.idleServices(ctx, namespace, proxy, questions)
}

// benchService is a RayService with one application, on a head and workers.
func benchService(namespace, name string, workers int32, changes ...func(*rayv1.RayServiceSpec)) *rayv1.RayService {
	rc := raytest.RayCluster("x/y", raytest.Workers("cpu", workers, raytest.Bounds(workers, workers+1)))
	small := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}}
	rc.Spec.HeadGroupSpec.Template.Spec.Containers[0].Resources = small
	rc.Spec.WorkerGroupSpecs[0].Template.Spec.Containers[0].Resources = small
	rs := &rayv1.RayService{Spec: rayv1.RayServiceSpec{
		ServeConfigV2: benchConfig(workers, ""), RayClusterSpec: rc.Spec, RayClusterDeletionDelaySeconds: new(int32(5)),
	}}
	rs.Namespace, rs.Name = namespace, name
	for _, change := range changes {
		change(&rs.Spec)
	}
	return rs
}

// benchConfig is a configuration of Serve with one application. build is the duration of its build in the simulator; empty means a second.
func benchConfig(replicas int32, build string) string {
	env := ""
	if build != "" {
		env = fmt.Sprintf(", runtime_env: {env_vars: {RAYGATE_SIM_SERVE_BUILD: %s}}", build)
	}
	return fmt.Sprintf("applications: [{name: %s, import_path: 'shop:app', route_prefix: /shop%s, deployments: [{name: Front, num_replicas: %d}]}]", shop, env, replicas)
}

func inSteps(spec *rayv1.RayServiceSpec) {
	spec.RayClusterSpec.EnableInTreeAutoscaling = new(true)
	spec.UpgradeStrategy = &rayv1.RayServiceUpgradeStrategy{
		Type: new(rayv1.RayServiceNewClusterWithIncrementalUpgrade),
		ClusterUpgradeOptions: &rayv1.ClusterUpgradeOptions{
			MaxSurgePercent: new(int32(50)), StepSizePercent: new(int32(25)), IntervalSeconds: new(int32(2)), GatewayClassName: "bench",
		},
	}
}

// patient keeps workers that are deleted running until they get no more requests.
func patient(spec *rayv1.RayServiceSpec) {
	spec.RayClusterSpec.WorkerGroupSpecs[0].Template.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{
		PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "5"}}},
	}
}

func tolerant(spec *rayv1.RayServiceSpec) {
	spec.RayClusterSpec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379"}
}

func image(tag string) func(*rayv1.RayServiceSpec) {
	return func(s *rayv1.RayServiceSpec) {
		s.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Image = "rayproject/ray:" + tag
	}
}

// event is something that happens to a service while it gets requests.
type event struct {
	what string
	// share is the part of all requests that are sent during the event, in percent.
	share int
	pick  func() goal
	do    func(context.Context) error
	aim   *Aim
	// byLabel means that the requests are counted by their labels.
	byLabel bool
}

// lostRequests makes events happen to services, one after the other, while it sends requests at a constant rate.
func (s *session) lostRequests(ctx context.Context, namespace string, q *questions) error {
	plain, stepped, lasting := benchService(namespace, "plain", serviceWorkers, patient), benchService(namespace, "stepped", serviceWorkers, inSteps), benchService(namespace, "lasting", serviceWorkers, tolerant)
	plane := s.newDataPlane(ctx, client.ObjectKeyFromObject(stepped))
	defer plane.stop()
	if err := s.create(ctx, []client.Object{plain, stepped, lasting}); err != nil {
		return err
	}
	for _, rs := range []*rayv1.RayService{plain, stepped, lasting} {
		if err := s.serviceIs(ctx, rs, "ready", serving); err != nil {
			return err
		}
	}
	if err := s.eventually(ctx, "a backend of the route", stepLimit, plane.knows); err != nil {
		return err
	}
	load, err := newLoad(s.config, namespace, s.logf)
	if err != nil {
		return err
	}
	to := func(rs *rayv1.RayService) func() goal {
		return func() goal { return goal{rs.Name + "-serve-svc", ""} }
	}
	none := atMost(0)
	for _, e := range []event{
		{"switch to a new cluster", 20, to(plain), func(ctx context.Context) error { return s.replace(ctx, plain, "2.53.0") }, none, false},
		{"upgrade in steps of 25 percent", 25, plane.pick, func(ctx context.Context) error { return s.replace(ctx, stepped, "2.53.0") }, none, true},
		{"rollback from the middle of an upgrade in steps", 25, plane.pick, func(ctx context.Context) error { return s.rollBack(ctx, stepped) }, none, true},
		{"graceful deletion of a worker", 10, to(plain), func(ctx context.Context) error { return s.loseWorker(ctx, plain, false) }, none, false},
		{"the same without a preStop hook", 5, to(lasting), func(ctx context.Context) error { return s.loseWorker(ctx, lasting, false) }, nil, false},
		{"SIGKILL of a worker", 5, to(plain), func(ctx context.Context) error { return s.loseWorker(ctx, plain, true) }, nil, false},
		{"SIGKILL of the head with fault tolerance", 10, to(lasting), func(ctx context.Context) error { return s.loseHead(ctx, lasting) }, nil, false},
	} {
		q.reset()
		begin := time.Now()
		tallies, err := load.during(ctx, s.opts.Requests*e.share/100, e.pick, e.do)
		if err != nil {
			return fmt.Errorf("%s: %w", e.what, err)
		}
		s.reportLost(e, tallies)
		s.logf("%s: %+v in %.0f s, at most %.2f questions to the dashboards of a service in 2 s", e.what, total(tallies), time.Since(begin).Seconds(), q.most(time.Since(begin)))
	}
	for _, rs := range []*rayv1.RayService{plain, stepped, lasting} {
		if err := s.client.Delete(ctx, rs); err != nil {
			return fmt.Errorf("deleting RayService: %w", err)
		}
	}
	return nil
}

func (s *session) reportLost(e event, tallies map[string]tally) {
	all := total(tallies)
	one := func(n int) []float64 { return []float64{float64(n)} }
	s.add(fmt.Sprintf("%s: requests lost of %d", e.what, all.sent), "", one(all.lost), nil, e.aim)
	if !e.byLabel {
		return
	}
	labels := make([]string, 0, len(tallies))
	for label := range tallies {
		labels = append(labels, label)
	}
	slices.Sort(labels)
	for _, label := range labels {
		s.add(fmt.Sprintf("  new cluster at %s: requests lost of %d", label, tallies[label].sent), "", one(tallies[label].lost), nil, nil)
	}
}

// serving is a service that is ready as its spec wants it, without an upgrade.
func serving(rs *rayv1.RayService) bool {
	return meta.IsStatusConditionTrue(rs.Status.Conditions, rayv1.RayServiceReady) && rs.Status.PendingServiceStatus.RayClusterName == "" &&
		rs.Status.ActiveServiceStatus.RayClusterName != "" && rs.Status.ObservedGeneration == rs.Generation
}

// serviceIs waits until ok is true of a service, and updates rs to that version.
func (s *session) serviceIs(ctx context.Context, rs *rayv1.RayService, what string, ok func(*rayv1.RayService) bool) error {
	return s.eventually(ctx, rs.Name+" to be "+what, stepLimit, func(ctx context.Context) error {
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(rs), rs); err != nil {
			return err
		}
		if !ok(rs) {
			return fmt.Errorf("it is not: %v", rs.Status.Conditions)
		}
		return nil
	})
}

func (s *session) edit(ctx context.Context, rs *rayv1.RayService, do func(*rayv1.RayServiceSpec)) error {
	return s.eventually(ctx, "a change of "+rs.Name, stepLimit, func(ctx context.Context) error {
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(rs), rs); err != nil {
			return err
		}
		do(&rs.Spec)
		return s.client.Update(ctx, rs)
	})
}

// alone waits until a service has no cluster but the active one.
func (s *session) alone(ctx context.Context, rs *rayv1.RayService) error {
	return s.eventually(ctx, "the end of the other cluster of "+rs.Name, stepLimit, func(ctx context.Context) error {
		var list rayv1.RayClusterList
		if err := s.client.List(ctx, &list, client.InNamespace(rs.Namespace), client.MatchingLabels{rayv1.LabelOriginatedFromCRName: rs.Name}); err != nil {
			return err
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("there are %d clusters", len(list.Items))
		}
		return nil
	})
}

// replace moves a service to another cluster, and waits until the old one is gone.
func (s *session) replace(ctx context.Context, rs *rayv1.RayService, tag string) error {
	old := rs.Status.ActiveServiceStatus.RayClusterName
	if err := s.edit(ctx, rs, image(tag)); err != nil {
		return err
	}
	err := s.serviceIs(ctx, rs, "upgraded", func(rs *rayv1.RayService) bool {
		return serving(rs) && rs.Status.ActiveServiceStatus.RayClusterName != old
	})
	if err != nil {
		return err
	}
	return s.alone(ctx, rs)
}

// rollBack begins an upgrade in steps and reverts it when three quarters of the traffic have moved.
func (s *session) rollBack(ctx context.Context, rs *rayv1.RayService) error {
	old := rs.Status.ActiveServiceStatus.RayClusterName
	if err := s.edit(ctx, rs, image("2.54.0")); err != nil {
		return err
	}
	err := s.serviceIs(ctx, rs, "half way", func(rs *rayv1.RayService) bool {
		share := rs.Status.PendingServiceStatus.TrafficRoutedPercent
		return share != nil && *share >= 75
	})
	if err != nil {
		return err
	}
	if err := s.edit(ctx, rs, image("2.53.0")); err != nil {
		return err
	}
	if err := s.serviceIs(ctx, rs, "rolled back", serving); err != nil {
		return err
	}
	if now := rs.Status.ActiveServiceStatus.RayClusterName; now != old {
		return fmt.Errorf("rolling back: the active cluster is %s, want %s", now, old)
	}
	return s.alone(ctx, rs)
}

// pods returns the Pods of the active cluster of a service.
func (s *session) pods(ctx context.Context, rs *rayv1.RayService, kind rayv1.RayNodeType) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := s.client.List(ctx, &list, client.InNamespace(rs.Namespace), client.MatchingLabels{
		rayv1.LabelCluster: rs.Status.ActiveServiceStatus.RayClusterName, rayv1.LabelNodeType: string(kind),
	})
	return list.Items, err
}

// loseWorker deletes a worker, or kills its processes, and waits until there is another.
func (s *session) loseWorker(ctx context.Context, rs *rayv1.RayService, kill bool) error {
	return s.lose(ctx, rs, rayv1.WorkerNode, serviceWorkers, kill)
}

// loseHead kills the processes of the head, and waits until there is another.
func (s *session) loseHead(ctx context.Context, rs *rayv1.RayService) error {
	return s.lose(ctx, rs, rayv1.HeadNode, 1, true)
}

func (s *session) lose(ctx context.Context, rs *rayv1.RayService, kind rayv1.RayNodeType, want int, kill bool) error {
	pods, err := s.pods(ctx, rs, kind)
	if err != nil {
		return fmt.Errorf("listing Pods: %w", err)
	}
	// A worker without a replica has no proxy, and is not ready.
	at := slices.IndexFunc(pods, func(p corev1.Pod) bool { return podReady(&p) })
	if at < 0 {
		return fmt.Errorf("no Pod of kind %s is ready", kind)
	}
	lost := &pods[at]
	if err := pause(ctx, 2*time.Second); err != nil {
		return err
	}
	if err := s.end(ctx, lost, kill); err != nil {
		return fmt.Errorf("ending Pod %s: %w", lost.Name, err)
	}
	return s.eventually(ctx, "another Pod for "+lost.Name, stepLimit, func(ctx context.Context) error {
		pods, err := s.pods(ctx, rs, kind)
		if err != nil {
			return err
		}
		var names []string
		for i := range pods {
			if p := &pods[i]; replaces(p, lost) {
				names = append(names, p.Name)
			}
		}
		if len(names) != want || len(pods) != want {
			return fmt.Errorf("there are %s", strings.Join(names, ", "))
		}
		return nil
	})
}

// end deletes a Pod or kills its processes.
func (s *session) end(ctx context.Context, p *corev1.Pod, kill bool) error {
	if !kill {
		return s.client.Delete(ctx, p)
	}
	// The simulated node kills the processes of a Pod with this annotation.
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"raygate.io/sim-exit-code":"137"}}}`))
	return s.client.Patch(ctx, p, patch)
}

// replaces reports whether a Pod of the same kind as a lost one runs in its place. A head takes requests then.
func replaces(p, lost *corev1.Pod) bool {
	serves := p.Labels[rayv1.LabelNodeType] != string(rayv1.HeadNode) || p.Labels[rayv1.LabelServe] == rayv1.LabelServeTrue
	return p.UID != lost.UID && p.Status.Phase == corev1.PodRunning && serves
}
