package raydevices_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/devices/shipped"
	"github.com/raygate/raygate/pkg/raydevices"
)

func program(t testing.TB) *plan.Program {
	t.Helper()
	p, err := load.Registry(shipped.HAMi)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// worker is a cluster whose worker asks for "name=amount name=amount".
func worker(asks string, edit func(*rayv1.RayClusterSpec, *rayv1.WorkerGroupSpec)) *rayv1.RayCluster {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("gpu", 1))
	g := &rc.Spec.WorkerGroupSpecs[0]
	g.Template.Spec.Containers[0].Resources = limits(asks)
	if edit != nil {
		edit(&rc.Spec, g)
	}
	return rc
}

func limits(asks string) corev1.ResourceRequirements {
	list := corev1.ResourceList{}
	for pair := range strings.FieldsSeq(asks) {
		name, n, _ := strings.Cut(pair, "=")
		list[corev1.ResourceName(name)] = resource.MustParse(n)
	}
	return corev1.ResourceRequirements{Limits: list}
}

func TestCheck(t *testing.T) {
	const (
		template  = "spec.workerGroupSpecs[0].template"
		container = template + ".spec.containers[0]"
		params    = "spec.workerGroupSpecs[0].rayStartParams"
	)
	autoscaled := func(s *rayv1.RayClusterSpec, _ *rayv1.WorkerGroupSpec) { s.EnableInTreeAutoscaling = new(true) }
	job := &rayv1.RayJob{}
	job.Spec.RayClusterSpec = &worker("nvidia.com/gpumem=8Gi", nil).Spec
	job.Spec.SubmitterPodTemplate = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "submit", Resources: limits("nvidia.com/gpu=1 nvidia.com/gpucores=150")}}}}
	cron := &rayv1.RayCronJob{}
	cron.Spec.JobTemplate = job.Spec
	service := &rayv1.RayService{}
	service.Spec.RayClusterSpec = *job.Spec.RayClusterSpec
	cases := map[string]struct {
		object runtime.Object
		facts  bool
		want   []string // severity field: a part of the message
	}{
		"nothing":        {object: worker("cpu=1", nil)},
		"a part":         {object: worker("nvidia.com/gpu=2 nvidia.com/gpumem=4096 nvidia.com/gpucores=30", nil)},
		"wrong unit":     {object: worker("nvidia.com/gpumem=8Gi", nil), want: []string{"refused " + container + ".resources.limits[nvidia.com/gpumem]: 8192"}},
		"cores over 100": {object: worker("nvidia.com/gpu=1 nvidia.com/gpucores=150", nil), want: []string{"refused " + container + ".resources.limits[nvidia.com/gpucores]: 100"}},
		"derived count":  {object: worker("nvidia.com/gpumem=3000", nil), want: []string{"warning " + template + ": nvidia.com/gpu was set to 1"}},
		"R3 explicit number": {object: worker("nvidia.com/gpu=2 nvidia.com/gpumem=1", func(_ *rayv1.RayClusterSpec, g *rayv1.WorkerGroupSpec) {
			g.RayStartParams = map[string]string{"num-gpus": "8"}
		}), want: []string{"warning " + params + "[num-gpus]: is 8 and is kept, but the Ray container sees 2"}},
		"R3 none on a worker": {object: worker("nvidia.com/gpu=2 nvidia.com/gpumem=1", func(_ *rayv1.RayClusterSpec, g *rayv1.WorkerGroupSpec) {
			g.RayStartParams = map[string]string{"num-gpus": "0"}
		}), want: []string{"warning " + params + "[num-gpus]: is 0"}},
		"R3 none on the head, which is usual": {object: worker("", func(s *rayv1.RayClusterSpec, _ *rayv1.WorkerGroupSpec) {
			s.HeadGroupSpec.RayStartParams = map[string]string{"num-gpus": "0"}
			s.HeadGroupSpec.Template.Spec.Containers[0].Resources = limits("nvidia.com/gpu=1 nvidia.com/gpumem=1")
		})},
		"R3 resources of the group": {object: worker("nvidia.com/gpu=2 nvidia.com/gpumem=1", func(_ *rayv1.RayClusterSpec, g *rayv1.WorkerGroupSpec) {
			g.Resources = map[string]string{"GPU": "8"}
		}), want: []string{"warning spec.workerGroupSpecs[0].resources: is 8"}},
		"two kinds of GPU": {object: worker("nvidia.com/gpu=1 nvidia.com/gpumem=1 amd.com/gpu=1", nil), want: []string{"warning " + container + ".resources.limits: amd and nvidia"}},
		"two MIG profiles": {object: worker("nvidia.com/mig-1g.10gb=2 nvidia.com/mig-2g.20gb=1", nil), want: []string{"warning " + container + ".resources.limits: mig-1g.10gb and nvidia.com/mig-2g.20gb"}},
		"a sidecar": {object: worker("cpu=1", func(_ *rayv1.RayClusterSpec, g *rayv1.WorkerGroupSpec) {
			g.Template.Spec.Containers = append(g.Template.Spec.Containers, corev1.Container{Name: "side", Resources: limits("nvidia.com/gpu=1 nvidia.com/gpumem=1")})
		}), want: []string{"warning " + template + ".spec.containers[1]: not for Ray"}},
		"a privileged container": {object: worker("nvidia.com/gpu=1", func(_ *rayv1.RayClusterSpec, g *rayv1.WorkerGroupSpec) {
			g.Template.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
		}), want: []string{"warning " + template + ": is privileged and was passed over"}},
		"the autoscaler sees no memory": {object: worker("nvidia.com/gpumem=3000", autoscaled), want: []string{
			"warning " + template + ": nvidia.com/gpu was set", "warning " + params + "[num-gpus]: takes a worker of this group to have 0 GPUs, but it will have 1"}},
		"the operator stores the fact": {object: worker("nvidia.com/gpumem=3000", autoscaled), facts: true, want: []string{"warning " + template + ": nvidia.com/gpu was set"}},
		"the autoscaler sees a number": {object: worker("nvidia.com/gpu=1 nvidia.com/gpumem=1", autoscaled)},
		"the autoscaler sees no NPU":   {object: worker("huawei.com/Ascend910B3=1 huawei.com/Ascend910B3-memory=16384", autoscaled), want: []string{"warning " + params + "[resources]: 1 of NPU: add it here, or run"}},
		"nor can the operator tell it": {object: worker("huawei.com/Ascend910B3=1 huawei.com/Ascend910B3-memory=16384", func(s *rayv1.RayClusterSpec, g *rayv1.WorkerGroupSpec) {
			s.EnableInTreeAutoscaling, g.RayStartParams = new(true), map[string]string{"resources": `'{"x":1}'`}
		}), facts: true, want: []string{"warning " + params + "[resources]: 1 of NPU: add it here"}},
		"a job": {object: job, want: []string{
			"refused spec.rayClusterSpec.workerGroupSpecs[0].template.spec.containers[0].resources.limits[nvidia.com/gpumem]: 8192",
			"warning spec.submitterPodTemplate.spec.containers[0].resources.limits[nvidia.com/gpucores]: where device admission looks at all Pods",
		}},
		"a cron job": {object: cron, want: []string{
			"refused spec.jobTemplate.rayClusterSpec.workerGroupSpecs[0].template.spec.containers[0].resources.limits[nvidia.com/gpumem]: 8192",
			"warning spec.jobTemplate.submitterPodTemplate.spec.containers[0].resources.limits[nvidia.com/gpucores]: all Pods",
		}},
		"a service":         {object: service, want: []string{"refused spec.rayClusterConfig.workerGroupSpecs[0].template.spec.containers[0].resources.limits[nvidia.com/gpumem]: 8192"}},
		"another object":    {object: &corev1.Pod{}},
		"a cluster of none": {object: &rayv1.RayCluster{}},
	}
	p := program(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.object.DeepCopyObject()
			found := raydevices.Check(p, tc.object, raydevices.Options{Facts: tc.facts})
			if diff := cmp.Diff(before, tc.object); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
			if len(found) != len(tc.want) {
				t.Fatalf("%d findings, want %d:\n%+v", len(found), len(tc.want), found)
			}
			for i, f := range found {
				severity := "warning"
				if f.Refused {
					severity = "refused"
				}
				place, part, _ := strings.Cut(tc.want[i], ": ")
				if got := fmt.Sprint(severity, " ", f.Field); got != place || !strings.Contains(f.Message, part) {
					t.Errorf("finding %s: %s\nwant %s", got, f.Message, tc.want[i])
				}
			}
		})
	}
}

// TestCheckPolicies: what a policy of the registry forbids is named with its field.
func TestCheckPolicies(t *testing.T) {
	p, err := load.Registry([]byte("apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\ndefaults: {privileged: Deny, nodeName: Deny}\nvendors:\n- {name: a, resources: {count: a.io/x}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	rc := worker("a.io/x=1", func(_ *rayv1.RayClusterSpec, g *rayv1.WorkerGroupSpec) {
		g.Template.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	})
	found := raydevices.Check(p, rc, raydevices.Options{})
	if len(found) != 1 || !found[0].Refused || !found[0].Forbidden || !strings.HasSuffix(found[0].Field.String(), "containers[0].securityContext.privileged") {
		t.Errorf("privileged: %+v", found)
	}
	rc = worker("a.io/x=1", func(_ *rayv1.RayClusterSpec, g *rayv1.WorkerGroupSpec) { g.Template.Spec.NodeName = "n" })
	if found = raydevices.Check(p, rc, raydevices.Options{}); len(found) != 1 || !found[0].Refused || !strings.HasSuffix(found[0].Field.String(), "template.spec.nodeName") {
		t.Errorf("node name: %+v", found)
	}
}

// TestCheckConditions: conditions see the labels that the Pods will have.
func TestCheckConditions(t *testing.T) {
	for name, when := range map[string]string{
		"of the template": `labels[?"tier"].orValue("") == "small"`,
		"of the group":    `labels[?"zone"].orValue("") == "a"`,
		"of the operator": `labels[?"ray.io/cluster"].orValue("") == "demo" && labels[?"ray.io/group"].orValue("") == "gpu" && labels[?"ray.io/node-type"].orValue("") == "worker"`,
	} {
		t.Run(name, func(t *testing.T) {
			p, err := load.Registry([]byte("apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\nvendors:\n" +
				"- {name: a, resources: {count: a.io/x}, rules: [{field: count, range: [1, 2], when: '" + when + "'}]}\n"))
			if err != nil {
				t.Fatal(err)
			}
			found := raydevices.Check(p, worker("a.io/x=3", func(_ *rayv1.RayClusterSpec, g *rayv1.WorkerGroupSpec) {
				g.Template.Labels, g.Labels = map[string]string{"tier": "small"}, map[string]string{"zone": "a"}
			}), raydevices.Options{})
			if len(found) != 1 || !found[0].Refused || !strings.Contains(found[0].Message, "2") {
				t.Errorf("findings %+v", found)
			}
		})
	}
}

// FuzzCheck holds that no amounts and parameters end in a panic.
func FuzzCheck(f *testing.F) {
	f.Add("nvidia.com/gpumem", "8Gi", "num-gpus", "1e9", true)
	f.Add("huawei.com/Ascend910C", "3", "resources", `'{"NPU":-1}'`, true)
	f.Add("nvidia.com/mig-1g.10gb", "9223372036854775807", "GPU", "-1", false)
	p := program(f)
	f.Fuzz(func(t *testing.T, name, amount, param, value string, group bool) {
		q, err := resource.ParseQuantity(amount)
		if err != nil || len(amount) > 20 {
			t.Skip()
		}
		rc := worker("", func(s *rayv1.RayClusterSpec, g *rayv1.WorkerGroupSpec) {
			s.EnableInTreeAutoscaling = new(true)
			g.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceName(name)] = q
			if g.RayStartParams = map[string]string{param: value}; group {
				g.RayStartParams, g.Resources = nil, map[string]string{param: value}
			}
		})
		for _, f := range raydevices.Check(p, rc, raydevices.Options{}) {
			if f.Message == "" || f.Field == nil {
				t.Errorf("incomplete finding %+v", f)
			}
		}
	})
}
