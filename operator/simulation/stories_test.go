package simulation

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// TestStories plays what was found by seeds, or by readers, with many seeds each: the seed decides all times but those of the steps.
func TestStories(t *testing.T) {
	job := func(change ...func(*rayv1.RayJobSpec)) *rayv1.RayJob {
		j := &rayv1.RayJob{ObjectMeta: at(demo), Spec: rayv1.RayJobSpec{Entrypoint: "x", SubmissionMode: rayv1.K8sJobMode, RayClusterSpec: new(storyCluster())}}
		for _, f := range change {
			f(&j.Spec)
		}
		return j
	}
	mode := func(m rayv1.JobSubmissionMode) func(*rayv1.RayJobSpec) {
		return func(s *rayv1.RayJobSpec) { s.SubmissionMode = m }
	}
	shutDown := func(s *rayv1.RayJobSpec) { s.ShutdownAfterJobFinishes = true }
	suspend := edit(kindRayJob, demo, func(j *rayv1.RayJob) { j.Spec.Suspend = true })
	service := func(kind rayv1.RayServiceUpgradeType) *rayv1.RayService {
		return &rayv1.RayService{ObjectMeta: at(demo), Spec: rayv1.RayServiceSpec{
			ServeConfigV2: config1, RayClusterSpec: storyCluster(), UpgradeStrategy: &rayv1.RayServiceUpgradeStrategy{Type: &kind},
		}}
	}
	image := func(name string) func(*world) {
		return edit(kindRayService, demo, func(rs *rayv1.RayService) {
			rs.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Image = name
		})
	}
	withoutVariable := edit(kindRayService, demo, func(rs *rayv1.RayService) {
		c := rs.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers
		c[0].Env = c[0].Env[:len(c[0].Env)-1]
	})
	for name, s := range map[string]*scenario{
		"a cluster is made anew that the watch shows late, and the RayJob is suspended": {objects: list(job(shutDown)), steps: []step{
			{20 * time.Second, "watches lag", func(w *world) { w.begins(faultWatch, "", 1, 20*time.Second) }},
			{24 * time.Second, "the cluster is deleted", deleteOwned(kindCluster, "RayJob")},
			{38 * time.Second, "the RayJob is suspended", suspend},
		}},
		"a sidecar's cluster is deleted while it starts": {objects: list(job(mode(rayv1.SidecarMode))), steps: []step{
			{10 * time.Second, "the cluster is deleted", deleteOwned(kindCluster, "RayJob")},
		}},
		"a sidecar's head is lost before the cluster is complete": {objects: list(job(mode(rayv1.SidecarMode))), steps: []step{
			{8 * time.Second, "the head is lost", onPod(rayv1.HeadNode, 0, (*nodes).kill)},
		}},
		"the RayJob is deleted before its submitter submits": {objects: list(job()), steps: []step{
			{9 * time.Second, "the RayJob is deleted", remove(kindRayJob, demo)},
		}},
		"the head is lost, and its submitter lives": {objects: list(job()), steps: []step{
			{20 * time.Second, "the head is lost", onPod(rayv1.HeadNode, 0, (*nodes).fail)},
		}},
		"the strategy forbids the new cluster that failed": {objects: list(service(rayv1.RayServiceNewCluster)), steps: []step{
			{40 * time.Second, "the image fails", image(imageBroken)},
			{80 * time.Second, "the strategy becomes None", edit(kindRayService, demo, func(rs *rayv1.RayService) { newStrategy(rayv1.RayServiceUpgradeNone)(&rs.Spec) })},
			{100 * time.Second, "another variable is wanted", edit(kindRayService, demo, func(rs *rayv1.RayService) {
				rs.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers[0].Env = nil
			})},
			{120 * time.Second, "the image is right", image(imageA)},
		}},
		"a head starts anew whose configuration is not accepted before another cluster is wanted": {objects: list(service(rayv1.RayServiceNewCluster)), steps: []step{
			{40 * time.Second, "dashboards take nothing", func(w *world) { w.begins(faultPosts, "", 1, 21*time.Second) }},
			{43 * time.Second, "the head's node is drained", onPod(rayv1.HeadNode, 0, (*nodes).evict)},
			{55 * time.Second, "nodes are full", func(w *world) { w.begins(faultNodes, "", 1, 5*time.Minute) }},
			{56 * time.Second, "the image changes", image(imageB)},
		}},
		"KubeRay's upgrade that removes a field is taken over": {objects: list(service(rayv1.RayServiceNewCluster)), steps: []step{
			{60 * time.Second, "a variable is removed", withoutVariable},
			{66 * time.Second, "raygate takes over from KubeRay", fromKubeRay},
		}},
		"KubeRay's upgrade that removes a field is taken over, and another edit is taken back": {objects: list(service(rayv1.RayServiceNewCluster)), steps: []step{
			{60 * time.Second, "a variable is removed", withoutVariable},
			{66 * time.Second, "raygate takes over from KubeRay", fromKubeRay},
			{68 * time.Second, "the image fails", image(imageBroken)},
			{110 * time.Second, "the image is right", image(imageA)},
		}},
		"a suspended RayService is edited": {objects: list(service(rayv1.RayServiceNewCluster)), steps: []step{
			{30 * time.Second, "it is suspended", edit(kindRayService, demo, func(rs *rayv1.RayService) { rs.Spec.Suspend = true })},
			{70 * time.Second, "it is edited", image(imageB)},
		}},
		"writes conflict for as long as a watch lags": {objects: list(service(rayv1.RayServiceNewCluster)), steps: []step{
			{30 * time.Second, "watches lag", func(w *world) { w.begins(faultWatch, "RayCluster", 1, time.Minute) }},
			{31 * time.Second, "the image changes", image(imageB)},
			{45 * time.Second, "the head is lost", onPod(rayv1.HeadNode, 0, (*nodes).evict)},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(20) {
				var r Result
				synctest.Test(t, func(*testing.T) { r = run(seed, s, Options{History: true}) })
				if r.Violation != nil {
					t.Fatal(report(r))
				}
			}
		})
	}
}

func storyCluster() rayv1.RayClusterSpec {
	spec := raytest.RayCluster("x/y", raytest.Workers("cpu", 1)).Spec
	head := &spec.HeadGroupSpec.Template.Spec.Containers[0]
	head.Image, head.Env = imageA, []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}
	return spec
}

func list(objects ...client.Object) []client.Object { return objects }
