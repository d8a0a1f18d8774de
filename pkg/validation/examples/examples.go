// Package examples has a valid object of each kind and, for each validation rule, a change that breaks it. Tests of all entry points
// (gateway, webhook, controller, CEL in the CRD, command line) run the same table, so that all give the same verdict. It is for tests only.
package examples

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// Example breaks one rule.
type Example struct {
	// ID is the rule.
	ID string
	// Name describes the example, and is unique among the examples of a rule in one kind.
	Name string
	// Kind is the kind of the object.
	Kind string
	// WantFields are the paths at which the rule is reported, in the order of validation.Violations.
	WantFields []string
	// Also are the other rules of the same severity that are broken, sorted, where the rule cannot be broken alone.
	Also []string
	// Severity is an error or a warning, also for rules with both. The object of a warning has no errors.
	Severity rule.Severity
	// Update means that the object replaces Old. Otherwise it is created.
	Update bool
	// Options are the options that the rule needs.
	Options validation.Options
	// GoOnly means that the object cannot be written in JSON with the defaults of the API server. Only a caller of the package can break
	// the rule then.
	GoOnly bool
	// ValidOptions are for Valid. They differ from Options if the object is valid and its environment is not.
	ValidOptions validation.Options

	old, object, valid func() validation.Object
}

// Old is the object before the change: a valid one unless the example needs another. It also exists without Update.
func (e Example) Old() validation.Object { return e.old() }

// Object is the object that breaks the rule.
func (e Example) Object() validation.Object { return e.object() }

// Valid is a neighbour of Object that does not break the rule and has no errors, under ValidOptions and, with Update,
// after the same Old.
func (e Example) Valid() validation.Object { return e.valid() }

// String names the example in test output.
func (e Example) String() string { return e.Kind + "/" + e.ID + "/" + e.Name }

// row is an example in the tables of one kind.
type row[T any] struct {
	ID, Name string
	// Mutate breaks the rule in an object after Before.
	Mutate func(*T)
	// Fix makes the broken object valid again. Nil means that the object before Mutate is the neighbour.
	Fix func(*T)
	// Before prepares the base. Nil leaves it.
	Before          func(*T)
	WantFields      []string
	Also            []string
	Warning, Update bool
	GoOnly          bool
	Options         validation.Options
	// FixOptions are the options under which the neighbour is valid, where the object itself is fine. Nil means Options.
	FixOptions *validation.Options
}

// examplesOf makes examples of rows. Each object has a new base, and gets its defaults again after the change.
func examplesOf[T any, P interface {
	*T
	validation.Object
}](kind string, base func() P, setDefaults func(P), rows []row[T]) []Example {
	list := make([]Example, len(rows))
	for i, r := range rows {
		build := func(changes ...func(*T)) validation.Object {
			object := base()
			for _, change := range changes {
				if change != nil {
					change(object)
				}
			}
			if !r.GoOnly {
				setDefaults(object)
			}
			return object
		}
		e := Example{ID: r.ID, Name: r.Name, Kind: kind, WantFields: r.WantFields, Also: r.Also, Severity: rule.SeverityError,
			Update: r.Update, Options: r.Options, GoOnly: r.GoOnly}
		if r.Warning {
			e.Severity = rule.SeverityWarning
		}
		e.old = func() validation.Object { return build(r.Before) }
		e.object = func() validation.Object { return build(r.Before, r.Mutate) }
		e.valid, e.ValidOptions = e.old, r.Options
		if r.FixOptions != nil {
			e.valid, e.ValidOptions = e.object, *r.FixOptions
		}
		if r.Fix != nil {
			e.valid = func() validation.Object { return build(r.Before, r.Mutate, r.Fix) }
		}
		list[i] = e
	}
	return list
}

// All returns every example. Each call makes new ones.
func All() []Example {
	all := examplesOf("RayCluster", Base, rayv1.SetRayClusterDefaults, clusterRows())
	all = append(all, examplesOf("RayJob", BaseJob, rayv1.SetRayJobDefaults, jobRows())...)
	all = append(all, examplesOf("RayService", BaseService, rayv1.SetRayServiceDefaults, serviceRows())...)
	return append(all, examplesOf("RayCronJob", BaseCronJob, rayv1.SetRayCronJobDefaults, cronJobRows())...)
}

// Nested returns the examples about a RayClusterSpec again, in a RayJob, a RayService or a RayCronJob. Rules for a RayCluster only are left
// out.
func Nested() []Example {
	of := map[string]bool{}
	for _, r := range validation.Rules() {
		of[r.ID] = r.Kind == rule.KindClusterSpec
	}
	var nested []Example
	for _, e := range Of("RayCluster") {
		if !of[e.ID] || e.Update || len(e.Also) > 0 || ownByOwner[e.ID] {
			continue
		}
		nested = append(nested,
			e.within("RayJob", "spec.rayClusterSpec", func(spec rayv1.RayClusterSpec) validation.Object {
				rj := BaseJob()
				rj.Spec.RayClusterSpec = &spec
				return rj
			}),
			e.within("RayService", "spec.rayClusterConfig", func(spec rayv1.RayClusterSpec) validation.Object {
				rs := BaseService()
				rs.Spec.RayClusterSpec = spec
				return rs
			}),
			e.within("RayCronJob", "spec.jobTemplate.rayClusterSpec", func(spec rayv1.RayClusterSpec) validation.Object {
				cj := BaseCronJob()
				cj.Spec.JobTemplate.RayClusterSpec = &spec
				return cj
			}))
	}
	return nested
}

// ownByOwner are rules whose examples break a rule of the containing object when they are nested.
var ownByOwner = map[string]bool{
	"RC-015": true,                                 // a type of upgrade is refused at all
	"RC-094": true, "RC-095": true, "RC-096": true, // tokens of Kubernetes are refused at all
	"RC-125": true, // clusters of a RayService get new claims, which it is warned of
	"RC-558": true, // a RayService names no head Service
	"RC-559": true, // an error of the owner
	"RC-562": true, // an Ingress is something to warn of in a RayService
}

func (e Example) within(kind, root string, around func(rayv1.RayClusterSpec) validation.Object) Example {
	n := e
	n.Kind, n.WantFields = kind, nil
	for _, f := range e.WantFields {
		n.WantFields = append(n.WantFields, root+strings.TrimPrefix(f, "spec"))
	}
	inside := func(object func() validation.Object) func() validation.Object {
		return func() validation.Object { return around(object().(*rayv1.RayCluster).Spec) }
	}
	n.old, n.object, n.valid = inside(e.old), inside(e.object), inside(e.valid)
	n.Options, n.ValidOptions = withCronJobs(e.Options), withCronJobs(e.ValidOptions)
	return n
}

// withCronJobs keeps RayCronJobs from saying that nothing happens to them.
func withCronJobs(o validation.Options) validation.Options {
	gates := map[validation.Gate]bool{validation.GateCronJob: true}
	maps.Copy(gates, o.Gates)
	o.Gates = gates
	return o
}

// Of returns the examples of one kind.
func Of(kind string) []Example {
	var list []Example
	for _, e := range All() {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

func clusterRows() []row[cluster] {
	var rows []row[cluster]
	for _, list := range [][]row[cluster]{metadata(), groups(), nodes(), startParams(), pods(), services(), gcs(), autoscaler(), security(), history(), network(), updates(), clusterFacts()} {
		rows = append(rows, list...)
	}
	fixes := clusterFixes()
	for i := range rows {
		key := rows[i].ID + "/" + rows[i].Name
		if fix, known := fixes[key]; known {
			rows[i].Fix = fix
			delete(fixes, key)
		}
	}
	for key := range fixes {
		panic("no example is called " + key)
	}
	return rows
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

// volcano is an operator with this batch scheduler.
var volcano = validation.Options{BatchScheduler: new("volcano")}

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
