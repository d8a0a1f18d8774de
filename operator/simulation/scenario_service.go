package simulation

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
)

const (
	config1 = "applications: [{name: shop, import_path: 'shop:one'}]"
	config2 = "applications: [{name: shop, import_path: 'shop:two'}]"
)

// service adds a RayService and the actions of its user.
func (s *scenario) service(r *rand.Rand) {
	rs := &rayv1.RayService{ObjectMeta: at(demo), Spec: rayv1.RayServiceSpec{
		ServeConfigV2: config1, RayClusterSpec: clusterSpec(r), RayClusterDeletionDelaySeconds: new(int32(r.IntN(2) * 20)),
		ExcludeHeadPodFromServeSvc: r.IntN(3) == 0,
	}}
	if r.IntN(3) == 0 {
		rs.Spec.RayClusterDeletionDelaySeconds = nil
	}
	if r.IntN(10) == 0 {
		rs.Annotations = map[string]string{rayv1.AnnotationInitializingTimeout: []string{"40s", "300"}[r.IntN(2)]}
	}
	if rs.Spec.RayClusterSpec.WorkerGroupSpecs[0].Replicas = new(int32(1 + r.IntN(2))); r.IntN(8) == 0 {
		rs.Spec.Suspend = true
	}
	strategy := func(kind rayv1.RayServiceUpgradeType) {
		rs.Spec.UpgradeStrategy = &rayv1.RayServiceUpgradeStrategy{Type: &kind}
	}
	oneOf(r,
		choice{2, func() {}},
		choice{5, func() { strategy(rayv1.RayServiceNewCluster) }},
		choice{1, func() { strategy(rayv1.RayServiceUpgradeNone) }},
		choice{6, func() {
			strategy(rayv1.RayServiceNewClusterWithIncrementalUpgrade)
			rs.Spec.RayClusterSpec.EnableInTreeAutoscaling = new(true)
			surge := []int32{20, 50, 100}[r.IntN(3)]
			rs.Spec.UpgradeStrategy.ClusterUpgradeOptions = &rayv1.ClusterUpgradeOptions{
				MaxSurgePercent: &surge, StepSizePercent: new(min(surge, []int32{10, 25, 50}[r.IntN(3)])), IntervalSeconds: new(int32(1 + r.IntN(5))), GatewayClassName: "istio",
			}
			if surge == 50 {
				serveGRPC(rs)
			}
		}},
	)
	s.objects = append(s.objects, rs)
	set := func(change func(*rayv1.RayServiceSpec)) func(*world) {
		return edit(kindRayService, demo, func(rs *rayv1.RayService) { change(&rs.Spec) })
	}
	image := func(name string) func(*world) {
		return set(func(s *rayv1.RayServiceSpec) {
			if c := s.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers; len(c) > 0 {
				c[0].Image = name
			}
		})
	}
	for range r.IntN(4) {
		oneOf(r,
			choice{6, func() { s.add(r, "the image becomes b", image(imageB)) }},
			choice{3, func() { s.add(r, "the image becomes a", image(imageA)) }},
			choice{4, func() {
				s.add(r, "the image becomes one that fails", image(imageBroken))
				if r.IntN(5) > 0 {
					s.steps = append(s.steps, step{span + 1, "the image becomes a again", image(imageA)})
				}
			}},
			choice{3, func() {
				s.add(r, "the configuration changes", set(func(s *rayv1.RayServiceSpec) { s.ServeConfigV2 = config2 }))
			}},
			choice{3, func() {
				removed := set(func(s *rayv1.RayServiceSpec) {
					if c := s.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers; len(c) > 0 && len(c[0].Env) > 0 {
						c[0].Env = c[0].Env[:len(c[0].Env)-1]
					}
				})
				s.add(r, "the last variable is removed", func(w *world) {
					if !w.anyHashOfKubeRay() { // it hides such an edit
						removed(w)
					}
				})
			}},
			choice{2, func() {
				s.add(r, "the RayService is suspended", set(func(s *rayv1.RayServiceSpec) { s.Suspend = true }))
				if r.IntN(3) > 0 {
					s.add(r, "the RayService is resumed", set(func(s *rayv1.RayServiceSpec) { s.Suspend = false }))
				}
			}},
			choice{1, func() { s.add(r, "the RayService is deleted", remove(kindRayService, demo)) }},
			choice{1, func() { s.add(r, "the RayService is deleted and made anew", recreate(kindRayService, demo, rs)) }},
			choice{1, func() { s.add(r, "a cluster of it is deleted", deleteOwned(kindCluster, "RayService")) }},
			choice{1, func() { s.spoilService(r, set) }},
			choice{3, func() { s.waitForNodes(r, image(imageB)) }},
			choice{4, func() { s.add(r, "the newest application fails for a while", failApplication) }},
			choice{1, func() { s.spoilConfig(r, set) }},
			choice{2, func() { s.add(r, "the strategy becomes NewCluster", set(newStrategy(rayv1.RayServiceNewCluster))) }},
			choice{1, func() { s.add(r, "the strategy becomes None", set(newStrategy(rayv1.RayServiceUpgradeNone))) }},
			choice{2, func() {
				s.add(r, "replicas become 3", set(func(s *rayv1.RayServiceSpec) { s.RayClusterSpec.WorkerGroupSpecs[0].Replicas = new(int32(3)) }))
			}},
			choice{1, func() {
				s.add(r, "a group is added", set(func(s *rayv1.RayServiceSpec) {
					g := s.RayClusterSpec.WorkerGroupSpecs[0].DeepCopy()
					g.GroupName = "more"
					s.RayClusterSpec.WorkerGroupSpecs = append(s.RayClusterSpec.WorkerGroupSpecs[:1], *g)
				}))
			}},
		)
	}
}

func (s *scenario) spoilService(r *rand.Rand, set func(func(*rayv1.RayServiceSpec)) func(*world)) {
	var saved []corev1.Container
	s.add(r, "the spec becomes invalid", set(func(s *rayv1.RayServiceSpec) {
		t := &s.RayClusterSpec.HeadGroupSpec.Template.Spec
		if len(t.Containers) > 0 {
			saved, t.Containers = t.Containers, nil
		}
	}))
	if r.IntN(4) > 0 {
		s.steps = append(s.steps, step{span + 2, "the spec becomes valid", set(func(s *rayv1.RayServiceSpec) {
			if t := &s.RayClusterSpec.HeadGroupSpec.Template.Spec; len(t.Containers) == 0 {
				t.Containers = saved
			}
		})})
	}
}

// newStrategy returns an edit that changes the strategy type and drops the steps of the previous one.
func newStrategy(kind rayv1.RayServiceUpgradeType) func(*rayv1.RayServiceSpec) {
	return func(s *rayv1.RayServiceSpec) { s.UpgradeStrategy = &rayv1.RayServiceUpgradeStrategy{Type: &kind} }
}

// Invalid configurations: one that cannot be parsed, and one that Ray rejects.
const (
	configUnreadable = "applications: {"
	configRefused    = "applications: [{name: shop, import_path: 'refused'}]"
)

// spoilConfig makes the configuration invalid, and later valid again.
func (s *scenario) spoilConfig(r *rand.Rand, set func(func(*rayv1.RayServiceSpec)) func(*world)) {
	wrong := []string{configUnreadable, configRefused}[r.IntN(2)]
	s.add(r, "the configuration becomes wrong", set(func(s *rayv1.RayServiceSpec) { s.ServeConfigV2 = wrong }))
	s.steps = append(s.steps, step{span + 4, "the configuration becomes right", set(func(s *rayv1.RayServiceSpec) { s.ServeConfigV2 = config1 })})
}

// failApplication makes the application of the newest cluster fail and recover later.
func failApplication(w *world) {
	var newest *rayv1.RayCluster
	for _, o := range w.store.All(kindCluster) {
		if rc := o.(*rayv1.RayCluster); newest == nil || newest.CreationTimestamp.Before(&rc.CreationTimestamp) {
			newest = rc
		}
	}
	if newest == nil {
		return
	}
	set := func(status string) func() {
		return func() {
			if head := w.rays.of(newest.Name); head != nil && !head.broken {
				head.SetApplication("shop", status, "")
				(&nodes{w}).refreshSoon(newest.Name)
			}
		}
	}
	lasts := w.between("application", 5*time.Second, 3*time.Minute)
	set("UNHEALTHY")()
	w.rays.loses(newest.Name)
	w.begins("an application fails", newest.Name, 1, lasts)
	w.after(lasts, "application", set(dashboardfake.Serving))
}

// waitForNodes adds an upgrade whose new cluster finds no node for minutes. Meanwhile the head in use loses its memory.
func (s *scenario) waitForNodes(r *rand.Rand, upgrade func(*world)) {
	begin := 30*time.Second + time.Duration(r.Int64N(int64(time.Minute)))
	s.steps = append(s.steps,
		step{begin, "nodes are full for minutes", func(w *world) { w.begins(faultNodes, "", 1, 5*time.Minute) }},
		step{begin + time.Second, "the image becomes b", upgrade},
		step{begin + 20*time.Second, "the head in use loses its memory", onPod(rayv1.HeadNode, 0, (*nodes).kill)},
	)
}

// serveGRPC adds a GRPCRoute to the service.
func serveGRPC(rs *rayv1.RayService) {
	metav1.SetMetaDataAnnotation(&rs.ObjectMeta, rayv1.AnnotationGRPCRoute, "true")
	rs.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{
		{Name: rayv1.PortGCSServer, ContainerPort: rayv1.DefaultGCSServerPort},
		{Name: rayv1.PortDashboard, ContainerPort: rayv1.DefaultDashboardPort},
		{Name: rayv1.PortServe, ContainerPort: rayv1.DefaultServePort},
		{Name: rayv1.PortServeGRPC, ContainerPort: 9000},
	}
}
