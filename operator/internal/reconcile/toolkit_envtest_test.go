package reconcile_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/operator/internal/ownerref"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/test/controlplane"
)

var controlPlane = controlplane.Share(controlplane.Options{CRDs: controlplane.LightCRDs, Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }

// greeting is a made-up kind: its owner gets a ConfigMap with its text.
var greeting = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Greeting"}

// greeter is a controller on the toolkit.
type greeter struct {
	client   client.Client
	clock    clock.PassiveClock
	recorder events.EventRecorder
	versions *reconcile.Versions
	children *children.Writer
	steps    []reconcile.Step[*greetingScope]
}

type greetingScope struct {
	owner  *unstructured.Unstructured
	config children.Result
	events []report.Event
}

func newGreeter(mgr ctrl.Manager) *greeter {
	g := &greeter{client: mgr.GetClient(), clock: clock.RealClock{}, recorder: mgr.GetEventRecorder("greeter")}
	g.children = children.New(children.Config{Client: g.client, Live: mgr.GetAPIReader(), Clock: g.clock})
	g.versions = reconcile.NewVersions(g.clock, g.children.Forget)
	g.steps = []reconcile.Step[*greetingScope]{{Name: "ConfigMap", Run: g.config}}
	return g
}

func (g *greeter) config(ctx context.Context, s *greetingScope) (reconcile.Outcome, error) {
	text, _, _ := unstructured.NestedString(s.owner.Object, "spec", "text")
	s.config = g.children.Ensure(ctx, s.owner, children.Child{Desired: &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.owner.GetNamespace(), Name: s.owner.GetName(), Labels: map[string]string{rayv1.LabelCluster: s.owner.GetName()},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.owner, greeting)},
		},
		Data: map[string]string{"text": text},
	}})
	if s.config.Done != children.None {
		s.events = append(s.events, report.Normal("Wrote", string(s.config.Done), "Wrote %s", s.config.Name))
	}
	return reconcile.Outcome{After: s.config.After}, s.config.Err
}

// Reconcile implements reconcile.Reconciler.
func (g *greeter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	before := &unstructured.Unstructured{}
	before.SetGroupVersionKind(greeting)
	if fresh, err := g.versions.Read(ctx, g.client, req.NamespacedName, before); err != nil || !fresh {
		return ctrl.Result{RequeueAfter: reconcile.StaleCheck}, client.IgnoreNotFound(err)
	}
	s := &greetingScope{owner: before.DeepCopy()}
	p, err := reconcile.Run(ctx, g.steps, s)
	var list []metav1.Condition
	news := p.Done("ConfigMap") && conditions.Editor{List: &list, Generation: before.GetGeneration(), Now: g.clock.Now()}.
		Set("Greeted", conditions.Status(s.config.Failure == nil), "Looked", "")
	if found, _, _ := unstructured.NestedSlice(before.Object, "status", "conditions"); news && len(found) == 0 {
		c, convertErr := runtime.DefaultUnstructuredConverter.ToUnstructured(&list[0])
		_, again, saveErr := g.versions.SaveStatus(ctx, g.client, before, with(s.owner, c))
		p.After = reconcile.Sooner(p.After, again)
		err = errors.Join(err, convertErr, saveErr)
	}
	report.Send(g.recorder, s.owner, s.events)
	return ctrl.Result{RequeueAfter: p.After}, err
}

func with(o *unstructured.Unstructured, condition map[string]any) *unstructured.Unstructured {
	o.Object["status"] = map[string]any{"conditions": []any{condition}}
	return o
}

func (g *greeter) SetupWithManager(mgr ctrl.Manager) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(greeting)
	return ctrl.NewControllerManagedBy(mgr).Named("greeter").
		For(o, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.ConfigMap{}, ownerref.Handler{Kind: greeting.GroupKind(), Gone: g.children.Gone}.Handle(), builder.WithPredicates(ownerref.Changed())).
		WithOptions(controller.Options{SkipNameValidation: new(true)}).Complete(g)
}

// TestToolkitServesAnotherOwner: a controller for a kind that the toolkit does not know consists of its one step and the seams above.
func TestToolkitServesAnotherOwner(t *testing.T) {
	w := controlPlane.Env(t).World(t, "toolkit-")
	w.Install(greeting)
	mgr := w.Manager(nil, nil)
	if err := newGreeter(mgr).SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	w.Start(mgr)
	owner := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"text": "hello"}}}
	owner.SetGroupVersionKind(greeting)
	owner.SetNamespace(w.Namespace)
	owner.SetName("demo")
	w.Create(owner)
	config := &corev1.ConfigMap{ObjectMeta: w.At("demo")}
	says := func(text string) {
		t.Helper()
		w.Eventually("the text "+text, func() bool { return w.Read(config) && config.Data["text"] == text })
	}
	says("hello")
	w.Eventually("the condition", func() bool {
		w.Read(owner)
		found, _, _ := unstructured.NestedSlice(owner.Object, "status", "conditions")
		return len(found) == 1
	})
	w.Eventually("the event", func() bool { return len(w.Events("demo", "Wrote")) == 1 })
	config.Data["text"] = "spoilt"
	if err := w.Client.Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	says("hello")
	if err := w.Client.Delete(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	says("hello")
	w.Read(owner)
	if err := unstructured.SetNestedField(owner.Object, "goodbye", "spec", "text"); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Update(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	says("goodbye")
}
