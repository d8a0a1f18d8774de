package rayservice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/internal/testing/testclient"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/serveplan"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
)

// stage is a RayService without an API server. It lives in a bubble of testing/synctest: the clock moves when everybody waits. What an operator that is
// killed amid its writes makes of a RayService is shown by operator/simulation.
type stage struct {
	t      *testing.T
	store  client.WithWatch // for the test itself
	r      *Reconciler
	asking raytest.Background // the tracker
	change []func(*Config)

	mu     sync.Mutex
	dashes map[string]*dashboardfake.Dashboard // by cluster
	made   int                                 // clusters
	first  string                              // the cluster that was used first
	log    []string
	uid    int
	suffix int
	downs  map[string]bool                    // clusters whose heads are not ready, by their names or their images
	ill    map[string]bool                    // clusters whose proxies are not healthy
	asked  map[dashboard.ServeHTTPOptions]int // proxies
}

// Eventf implements events.EventRecorder.
func (s *stage) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, kind+" "+reason+" "+fmt.Sprintf(note, args...))
}

// stageScheme knows the kinds of Kubernetes, of Ray and of the Gateway API.
var stageScheme = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), rayv1.AddToScheme(scheme), gatewayv1.Install(scheme))
})

func newStage(t *testing.T, objects ...client.Object) *stage {
	t.Helper()
	st := &stage{
		t: t, dashes: map[string]*dashboardfake.Dashboard{}, downs: map[string]bool{}, ill: map[string]bool{},
		asked: map[dashboard.ServeHTTPOptions]int{},
	}
	for _, o := range objects {
		if o.GetUID() == "" {
			st.name(o)
		}
	}
	scheme, err := stageScheme()
	if err != nil {
		t.Fatal(err)
	}
	st.store = testclient.Fake(scheme).
		WithStatusSubresource(&rayv1.RayService{}, &rayv1.RayCluster{}, &corev1.Pod{}, &gatewayv1.Gateway{}, &gatewayv1.HTTPRoute{}, &gatewayv1.GRPCRoute{}).
		WithIndex(&rayv1.RayCluster{}, ownerref.IndexController, ownerref.ControllerUID).
		WithIndex(&corev1.Service{}, ownerref.IndexController, ownerref.ControllerUID).
		WithIndex(&corev1.Pod{}, indexCluster, byLabel(rayv1.LabelCluster)).
		WithIndex(&discoveryv1.EndpointSlice{}, indexService, byLabel(discoveryv1.LabelServiceName)).
		WithObjects(objects...).Build()
	st.restart()
	t.Cleanup(st.asking.Stop)
	return st
}

// note notes a write of the operator. A configuration for Ray is one.
func (s *stage) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
}

// restart replaces the operator by one that knows nothing.
func (s *stage) restart() {
	s.asking.Stop()
	c := testclient.Around(s.store, func(verb string, o client.Object, write func() error) error {
		s.note(fmt.Sprintf("%s %T %s", verb, o, o.GetName()))
		if verb != "create" {
			return write()
		}
		s.name(o)
		err := write()
		if _, cluster := o.(*rayv1.RayCluster); cluster && err == nil {
			s.mu.Lock()
			s.made++
			s.mu.Unlock()
		}
		return err
	})
	config := Config{
		Client: c, Live: c, Recorder: s, Clock: clock.RealClock{}, Version: "v1", Gates: serveplan.Gates{IncrementalUpgrade: true},
		APIs: optionalapi.NewFixed(gatewayAPI(), c, clock.RealClock{}), Connect: s.connect, Probe: s.healthy,
		Suffix: func() string { s.suffix++; return fmt.Sprint("c", s.suffix) },
	}
	for _, change := range s.change {
		change(&config)
	}
	s.r = New(config)
	s.asking.Start(s.r.tracker.Start)
}

// gatewayAPI knows the kinds of the Gateway API but those that are left out.
func gatewayAPI(without ...schema.GroupVersionKind) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{rayservice.GatewayKind, rayservice.RouteKind, rayservice.GRPCKind} {
		if !slices.Contains(without, kind) {
			m.Add(kind, meta.RESTScopeNamespace)
		}
	}
	return m
}

// name gives an object what an API server would.
func (s *stage) name(o client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uid++
	o.SetUID(types.UID(fmt.Sprint("uid-", s.uid)))
	o.SetCreationTimestamp(metav1.Now())
}

// dash is the dashboard of a cluster.
func (s *stage) dash(cluster string) *dashboardfake.Dashboard {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dashes[cluster] == nil {
		s.dashes[cluster] = dashboardfake.New(clock.RealClock{})
	}
	return s.dashes[cluster]
}

func (s *stage) connect(a dashboards.Address, _ dashboard.Token) (dashboard.Client, error) {
	cluster, _, _ := strings.Cut(a.HostPort, "-head-svc.")
	return &noted{s.dash(cluster), s, cluster}, nil
}

func (s *stage) healthy(ctx context.Context, p dashboards.Pod) (bool, error) {
	cluster, _, _ := strings.Cut(p.Name, "-head")
	s.mu.Lock()
	s.asked[p.HTTP]++
	s.mu.Unlock()
	d, err := s.dash(cluster).ServeDetails(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	return err == nil && len(d.Applications) > 0 && !s.ill[cluster], err
}

// noted notes what a dashboard is asked to do.
type noted struct {
	*dashboardfake.Dashboard
	stage   *stage
	cluster string
}

// DeployServe implements dashboard.Client.
func (n *noted) DeployServe(ctx context.Context, config json.RawMessage) error {
	n.stage.note("deploy " + n.cluster + " " + string(config))
	return n.Dashboard.DeployServe(ctx, config)
}

var demo = types.NamespacedName{Namespace: "default", Name: "demo"}

// get is nil for a RayService that is gone.
func (s *stage) get() *rayv1.RayService {
	s.t.Helper()
	rs := &rayv1.RayService{}
	err := s.store.Get(context.Background(), demo, rs)
	if apierrors.IsNotFound(err) {
		return nil
	}
	s.must(err)
	return rs
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// pause is the time between two reconciles of a stage.
const pause = 800 * time.Millisecond

// until reconciles until something is so. Between two reconciles others act: the controllers of RayClusters, EndpointSlices and Gateways.
func (s *stage) until(what string, ok func(*rayv1.RayService) bool) {
	s.t.Helper()
	for range 2000 {
		if ok(s.get()) {
			return
		}
		if _, err := s.r.Reconcile(context.Background(), ctrl.Request{NamespacedName: demo}); err != nil {
			s.t.Fatalf("reconcile: %v\n%s", err, s.told())
		}
		s.others()
		time.Sleep(pause)
	}
	s.t.Fatalf("never %s: %+v\n%s", what, s.get().Status, s.told())
}

func (s *stage) told() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.log, "\n")
}

// edit is what a user does.
func (s *stage) edit(do func(*rayv1.RayServiceSpec)) {
	s.t.Helper()
	rs := s.get()
	do(&rs.Spec)
	rs.Generation++
	s.must(s.store.Update(context.Background(), rs))
}

const config1, config2 = "applications: [{name: shop, import_path: 'a:b'}]", "applications: [{name: shop, import_path: 'a:c'}]"

func storyService(change ...func(*rayv1.RayServiceSpec)) *rayv1.RayService {
	rs := &rayv1.RayService{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo", UID: "service", Generation: 1}}
	rs.Spec = rayv1.RayServiceSpec{
		ServeConfigV2: config1, RayClusterSpec: raytest.RayCluster("x/y", raytest.Workers("cpu", 1)).Spec, RayClusterDeletionDelaySeconds: new(int32(0)),
	}
	for _, do := range change {
		do(&rs.Spec)
	}
	return rs
}

func inSteps(surge, step int32) func(*rayv1.RayServiceSpec) {
	return func(s *rayv1.RayServiceSpec) {
		s.RayClusterSpec.EnableInTreeAutoscaling = new(true)
		s.UpgradeStrategy = &rayv1.RayServiceUpgradeStrategy{
			Type: new(rayv1.RayServiceNewClusterWithIncrementalUpgrade),
			ClusterUpgradeOptions: &rayv1.ClusterUpgradeOptions{
				MaxSurgePercent: &surge, StepSizePercent: &step, IntervalSeconds: new(int32(1)), GatewayClassName: "istio",
			},
		}
	}
}

func strategy(kind rayv1.RayServiceUpgradeType) func(*rayv1.RayServiceSpec) {
	return func(s *rayv1.RayServiceSpec) { s.UpgradeStrategy = &rayv1.RayServiceUpgradeStrategy{Type: &kind} }
}

func image(name string) func(*rayv1.RayServiceSpec) {
	return func(s *rayv1.RayServiceSpec) { s.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Image = name }
}

func newConfig(s *rayv1.RayServiceSpec) { s.ServeConfigV2 = config2 }

// set changes what is wrong with clusters.
func (s *stage) set(what map[string]bool, name string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what[name] = is
}

// cluster is one that is there.
func (s *stage) cluster(name string) *rayv1.RayCluster {
	s.t.Helper()
	rc := &rayv1.RayCluster{}
	s.must(s.store.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, rc))
	return rc
}

// clusters are the names of those that are there.
func (s *stage) clusters() []string {
	s.t.Helper()
	var list rayv1.RayClusterList
	s.must(s.store.List(context.Background(), &list))
	var names []string
	for _, rc := range list.Items {
		names = append(names, rc.Name)
	}
	return names
}

func is(rs *rayv1.RayService, kind string) bool {
	return rs != nil && meta.IsStatusConditionTrue(rs.Status.Conditions, kind)
}

func condition(rs *rayv1.RayService, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(rs.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// settled is a service that is ready with one cluster, which runs the configuration of the spec.
func (s *stage) settled(rs *rayv1.RayService) bool {
	if rs == nil || !is(rs, rayv1.RayServiceReady) || rs.Status.PendingServiceStatus.RayClusterName != "" || rs.Status.ObservedGeneration != rs.Generation || len(s.clusters()) != 1 {
		return false
	}
	configs := s.dash(rs.Status.ActiveServiceStatus.RayClusterName).Configs()
	c, err := serveplan.ParseConfig(rs.Spec.ServeConfigV2)
	s.must(err)
	app, _, _ := strings.Cut(strings.TrimPrefix(string(c.Body(nil)), `{"applications":`), `]`)
	return len(configs) > 0 && strings.Contains(configs[len(configs)-1], app)
}

// comesUp waits until the service is ready for the first time.
func (s *stage) comesUp() {
	s.t.Helper()
	s.until("ready", s.settled)
	s.first = s.get().Status.ActiveServiceStatus.RayClusterName
}
