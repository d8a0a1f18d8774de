// Package examples holds a valid RayCluster and, for each validation rule, a change that breaks it. Tests of all doors
// (gateway, webhook, controller, CEL in the CRD, command line) run the same table, so that they give the same verdict.
// It is for tests only.
package examples

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

// Example breaks one rule.
type Example struct {
	// ID is the rule.
	ID string
	// Name tells the story, and is unique among the examples of a rule.
	Name string
	// Mutate breaks the rule in a RayCluster that Base returned.
	Mutate func(*rayv1.RayCluster)
	// WantFields are the paths at which the rule is reported, in the order of validation.Violations. Other rules may be
	// broken too, where one cannot be broken alone.
	WantFields []string

	// Warning says that the rule warns and does not refuse.
	Warning bool
	// Update says that the rule needs an old object: Base after Before.
	Update bool
	// Before prepares the old object, and the new one before Mutate. Nil leaves Base.
	Before func(*rayv1.RayCluster)
	// Options are what the rule needs to know.
	Options validation.Options
}

// Old is the object before the change.
func (e Example) Old() *rayv1.RayCluster {
	rc := Base()
	if e.Before != nil {
		e.Before(rc)
	}
	return rc
}

// Object is the object that breaks the rule.
func (e Example) Object() *rayv1.RayCluster {
	rc := e.Old()
	e.Mutate(rc)
	return rc
}

// Base is a RayCluster with one worker group that breaks no rule and gives no warning. It has its schema defaults.
func Base() *rayv1.RayCluster {
	rc := &rayv1.RayCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: rayv1.GroupVersion.String(), Kind: "RayCluster"},
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"},
		Spec: rayv1.RayClusterSpec{
			RayVersion:    "2.56.0",
			HeadGroupSpec: rayv1.HeadGroupSpec{RayStartParams: map[string]string{}, Template: template("ray-head")},
			WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{
				GroupName:      "cpu",
				Replicas:       new(int32(1)),
				MaxReplicas:    new(int32(5)),
				RayStartParams: map[string]string{},
				Template:       template("ray-worker"),
			}},
		},
	}
	rayv1.SetRayClusterDefaults(rc)
	return rc
}

func template(container string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name:  container,
		Image: "rayproject/ray:2.56.0",
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("1"),
			corev1.ResourceMemory: resource.MustParse("2Gi"),
		}},
	}}}}
}

// All returns every example. Each call makes new ones.
func All() []Example {
	var all []Example
	for _, list := range [][]Example{metadata(), groups(), nodes(), startParams(), pods(), services(), gcs(), autoscaler(), security(), history(), network(), updates()} {
		all = append(all, list...)
	}
	return all
}

// Short forms for the tables.

type cluster = rayv1.RayCluster

func group(rc *cluster) *rayv1.WorkerGroupSpec { return &rc.Spec.WorkerGroupSpecs[0] }

func headPod(rc *cluster) *corev1.PodSpec { return &rc.Spec.HeadGroupSpec.Template.Spec }

func workerPod(rc *cluster) *corev1.PodSpec { return &group(rc).Template.Spec }

func head(rc *cluster) *corev1.Container { return &headPod(rc).Containers[0] }

func worker(rc *cluster) *corev1.Container { return &workerPod(rc).Containers[0] }

func headEnv(name, value string) func(*cluster) {
	return func(rc *cluster) { head(rc).Env = append(head(rc).Env, corev1.EnvVar{Name: name, Value: value}) }
}

func headParam(key, value string) func(*cluster) {
	return func(rc *cluster) { rc.Spec.HeadGroupSpec.RayStartParams[key] = value }
}

func workerParam(key, value string) func(*cluster) {
	return func(rc *cluster) { group(rc).RayStartParams[key] = value }
}

func annotation(key, value string) func(*cluster) {
	return func(rc *cluster) { metav1.SetMetaDataAnnotation(&rc.ObjectMeta, key, value) }
}

func label(key, value string) func(*cluster) {
	return func(rc *cluster) { metav1.SetMetaDataLabel(&rc.ObjectMeta, key, value) }
}

func autoscaling(rc *cluster) { rc.Spec.EnableInTreeAutoscaling = new(true) }

func autoscalerVersion(v rayv1.AutoscalerVersion) func(*cluster) {
	return func(rc *cluster) {
		autoscaling(rc)
		rc.Spec.AutoscalerOptions = &rayv1.AutoscalerOptions{Version: &v}
	}
}

func recreate(rc *cluster) {
	rc.Spec.UpgradeStrategy = &rayv1.RayClusterUpgradeStrategy{Type: new(rayv1.RayClusterRecreate)}
}

func tokenAuth(rc *cluster) { rc.Spec.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken} }

// both applies changes in order.
func both(changes ...func(*cluster)) func(*cluster) {
	return func(rc *cluster) {
		for _, change := range changes {
			change(rc)
		}
	}
}

func gate(g validation.Gate, on bool) validation.Options {
	return validation.Options{Gates: map[validation.Gate]bool{g: on}}
}

const (
	headContainer   = "spec.headGroupSpec.template.spec.containers[0]"
	workerContainer = "spec.workerGroupSpecs[0].template.spec.containers[0]"
	headParams      = "spec.headGroupSpec.rayStartParams"
	group0          = "spec.workerGroupSpecs[0]"
)

func at(fields ...string) []string { return fields }
