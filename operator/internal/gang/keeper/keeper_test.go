package keeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/gang/workloadaware"
	"github.com/raygate/raygate/operator/internal/optionalapi"
)

var owner = gang.Owner{Kind: gang.KindRayCluster, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: "uid-1"}}

// mapperOf serves some kinds, as "group/version Kind".
type mapper struct {
	meta.RESTMapper
	served map[schema.GroupVersionKind]bool
	asked  int
	err    error
}

func (m *mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	m.asked++
	if m.err != nil {
		return nil, m.err
	}
	if m.served[gk.WithVersion(versions[0])] {
		return &meta.RESTMapping{}, nil
	}
	return nil, &meta.NoKindMatchError{GroupKind: gk}
}

type bench struct {
	t      *testing.T
	client client.Client
	clock  *clocktesting.FakeClock
	mapper *mapper
	keeper *Keeper
	writes []string
}

// mapped is a client with another mapper.
type mapped struct {
	client.Client
	mapper meta.RESTMapper
}

func (m mapped) RESTMapper() meta.RESTMapper { return m.mapper }

func newBench(t *testing.T, fault func(verb, kind string) error, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{t: t, clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)), mapper: &mapper{served: map[schema.GroupVersionKind]bool{}}}
	scheme := runtime.NewScheme()
	kubernetes := workloadaware.Scheduler{}.Plan(&gang.Workload{Owner: owner}).Objects
	for _, o := range append(chained(1), kubernetes...) {
		for _, v := range o.Kind.Versions {
			gvk := schema.GroupVersionKind{Group: o.Kind.Group, Version: v, Kind: o.Kind.Kind}
			scheme.AddKnownTypeWithName(gvk, &unstructured.Unstructured{})
			b.mapper.served[gvk] = true
		}
	}
	check := func(verb string, o client.Object) error {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		b.writes = append(b.writes, verb+" "+kind)
		if fault != nil {
			return fault(verb, kind)
		}
		return nil
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithTypeConverters(managedfields.NewDeducedTypeConverter()).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := check("create", o); err != nil {
				return err
			}
			o.SetUID(types.UID(fmt.Sprintf("uid-of-write-%d", len(b.writes)))) // which the fake leaves out
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := check("patch", o); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := check("delete", o); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
	}).Build()
	b.client = mapped{c, b.mapper}
	b.keeper = New(b.client, b.client, optionalapi.NewFixed(b.mapper, c, b.clock), b.clock)
	return b
}

func (b *bench) keep(objects ...gang.Object) Report {
	b.writes = nil
	return b.keeper.Keep(b.t.Context(), &gang.Workload{Owner: owner}, gang.Plan{Objects: objects})
}

func (b *bench) get(kind string) *unstructured.Unstructured {
	b.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("test.io/v2")
	u.SetKind(kind)
	err := b.client.Get(b.t.Context(), client.ObjectKey{Namespace: "ns", Name: "demo"}, u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}

// groupObject is a PodGroup of a size.
func groupObject(size int64, more map[string]any) gang.Object {
	spec := map[string]any{"size": size, "amounts": map[string]any{"cpu": "2"}}
	maps.Copy(spec, more)
	return gang.Object{
		Kind:       gang.Kind{Group: "test.io", Kind: "PodGroup", Versions: []string{"v2", "v1"}},
		Name:       "demo",
		Labels:     map[string]string{"a": "b"},
		Controller: true,
		Spec:       func(string) map[string]any { return spec },
		Status:     map[string]any{"phase": "Pending"},
		Follow:     []string{"/spec/size", "/spec/amounts", "/spec/extra"},
	}
}

// chained are a Workload and a PodGroup with a finalizer, neither of which can be changed.
func chained(size int64) []gang.Object {
	group := groupObject(size, nil)
	group.Fixed = func(string) bool { return true }
	group.Finalizer = "test.io/protection"
	workload := group
	workload.Kind.Kind, workload.Finalizer = "Workload", ""
	return []gang.Object{workload, group}
}

func made(kind string, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	o := groupObject(1, nil)
	o.Kind.Kind = kind
	u := build(&gang.Workload{Owner: owner}, &item{Object: o, version: "v2"})
	u.SetUID("uid-of-" + "made")
	change(u)
	return u
}

func TestObjectIsMadeOnceAndFollows(t *testing.T) {
	b := newBench(t, nil)
	if got := b.keep(groupObject(3, nil)); len(got.Problems) > 0 || got.Hold != "" || got.LookAgain != 0 {
		t.Errorf("report %+v, want nothing to tell", got)
	}
	u := b.get("PodGroup")
	if u == nil || !metav1.IsControlledBy(u, &metav1.ObjectMeta{UID: owner.UID}) || u.GetLabels()["a"] != "b" {
		t.Fatalf("made %v", u)
	}
	steps := []struct {
		want       gang.Object
		wantWrites []string
		wantExtra  any
	}{
		{groupObject(3, nil), nil, nil},
		{groupObject(3, map[string]any{"amounts": map[string]any{"cpu": "2000m"}}), nil, nil},
		{groupObject(3, map[string]any{"not": "followed"}), nil, nil},
		{groupObject(5, nil), []string{"patch PodGroup"}, nil},
		{groupObject(5, map[string]any{"amounts": map[string]any{"cpu": "2", "gpu": "1"}}), []string{"patch PodGroup"}, nil},
		{groupObject(5, nil), []string{"patch PodGroup"}, nil}, // the amount that is no longer wanted goes
		{groupObject(5, map[string]any{"extra": "x"}), []string{"patch PodGroup"}, "x"},
		{groupObject(5, nil), []string{"patch PodGroup"}, nil}, // the field that is no longer wanted goes
	}
	for i, s := range steps {
		b.keep(s.want)
		if diff := cmp.Diff(s.wantWrites, b.writes); diff != "" {
			t.Errorf("step %d: writes (-want +got):\n%s", i, diff)
		}
		if extra, _ := at(b.get("PodGroup").Object, "/spec/extra"); extra != s.wantExtra {
			t.Errorf("step %d: extra %v, want %v", i, extra, s.wantExtra)
		}
	}
	if amounts, _ := at(b.get("PodGroup").Object, "/spec/amounts"); !cmp.Equal(amounts, map[string]any{"cpu": "2"}) {
		t.Errorf("amounts %v", amounts)
	}
}

func TestFixedObjectsAreMadeAgain(t *testing.T) {
	b := newBench(t, nil)
	b.keep(chained(3)...)
	before := b.get("PodGroup")
	before.SetFinalizers([]string{"test.io/protection"})
	if err := b.client.Update(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	b.keep(chained(3)...)
	if len(b.writes) > 0 {
		t.Errorf("writes %v without a change", b.writes)
	}
	if got := b.keep(chained(4)...); len(got.Problems) > 0 {
		t.Error(got.Problems)
	}
	want := []string{"patch PodGroup", "delete PodGroup", "delete Workload", "create Workload", "create PodGroup"}
	if diff := cmp.Diff(want, b.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if size, _ := at(b.get("PodGroup").Object, "/spec/size"); size != int64(4) {
		t.Errorf("size %v, want 4", size)
	}
}

func TestAbsentObjectsGo(t *testing.T) {
	absent := chained(1)
	for i := range absent {
		absent[i].Absent = true
	}
	b := newBench(t, nil)
	if b.keep(absent...); len(b.writes) > 0 {
		t.Errorf("writes %v for objects that are not there", b.writes)
	}
	b.keep(chained(1)...)
	b.keep(absent...)
	if diff := cmp.Diff([]string{"delete PodGroup", "delete Workload"}, b.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	theirs := newBench(t, nil, made("PodGroup", func(u *unstructured.Unstructured) { u.SetOwnerReferences(nil) }))
	if got := theirs.keep(absent[1]); theirs.get("PodGroup") == nil || len(got.Problems) > 0 || got.Hold != "" {
		t.Errorf("report %+v about what is none of our business", got)
	}
	// An API that is not there has no objects to get rid of.
	clear(theirs.mapper.served)
	theirs.clock.Step(time.Hour)
	theirs.keeper = New(theirs.client, theirs.client, optionalapi.NewFixed(theirs.mapper, theirs.client, theirs.clock), theirs.clock)
	if got := theirs.keep(absent[1]); len(got.Problems) > 0 || got.LookAgain != 0 {
		t.Errorf("report %+v about an API that nobody asked for", got)
	}
}

func TestWhoHasTheName(t *testing.T) {
	reference := func(change func(*metav1.OwnerReference)) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			refs := u.GetOwnerReferences()
			change(&refs[0])
			u.SetOwnerReferences(refs)
		}
	}
	cases := map[string]struct {
		change      func(*unstructured.Unstructured)
		wantProblem string
		wantHold    string
	}{
		"ours":              {change: func(*unstructured.Unstructured) {}},
		"ours, not control": {change: reference(func(r *metav1.OwnerReference) { r.Controller = nil })},
		"nobody":            {change: func(u *unstructured.Unstructured) { u.SetOwnerReferences(nil) }, wantProblem: "PodGroup demo exists and belongs to something else", wantHold: "belongs to something else"},
		"another":           {change: reference(func(r *metav1.OwnerReference) { r.Name, r.UID = "other", "uid-2" }), wantProblem: "belongs to something else", wantHold: "belongs to something else"},
		"an earlier one":    {change: reference(func(r *metav1.OwnerReference) { r.UID = "uid-0" }), wantHold: "still being deleted"},
		"ours on its way out": {change: func(u *unstructured.Unstructured) {
			u.SetFinalizers([]string{"x"})
			u.SetDeletionTimestamp(new(metav1.NewTime(time.Unix(1e9, 0))))
		}, wantHold: "still being deleted"},
		"ours, stuck on its way out": {change: func(u *unstructured.Unstructured) {
			u.SetFinalizers([]string{"x"})
			u.SetDeletionTimestamp(new(metav1.NewTime(time.Unix(1e9-60, 0))))
		}, wantProblem: "see its finalizers [x]", wantHold: "still being deleted"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, made("PodGroup", tc.change))
			got := b.keep(groupObject(1, nil))
			if !strings.Contains(strings.Join(got.Problems, "\n"), tc.wantProblem) || (tc.wantProblem == "") != (len(got.Problems) == 0) {
				t.Errorf("problems %q, want %q", got.Problems, tc.wantProblem)
			}
			if !strings.Contains(got.Hold, tc.wantHold) || (tc.wantHold == "") != (got.Hold == "") {
				t.Errorf("hold %q, want %q", got.Hold, tc.wantHold)
			}
			if (got.LookAgain > 0) != (tc.wantHold != "") || len(b.writes) > 0 {
				t.Errorf("looks again after %s, writes %v", got.LookAgain, b.writes)
			}
		})
	}
}

func TestTroubleIsReportedAndHoldsNoPods(t *testing.T) {
	quota := apierrors.NewForbidden(schema.GroupResource{Resource: "podgroups"}, "demo", errors.New("queue research is closed"))
	cases := map[string]struct {
		fault       func(verb, kind string) error
		mapperErr   error
		unserved    bool
		wantProblem string
	}{
		"the scheduler refuses":    {fault: func(string, string) error { return quota }, wantProblem: "creating PodGroup demo: .*queue research is closed"},
		"nobody answers":           {fault: func(string, string) error { return context.DeadlineExceeded }, wantProblem: "creating PodGroup demo: context deadline exceeded"},
		"discovery does not work":  {mapperErr: errors.New("503"), wantProblem: "asking for the API of PodGroup demo: 503"},
		"the API is not installed": {unserved: true, wantProblem: "serves no PodGroup in the group test.io; install"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.fault)
			b.mapper.err = tc.mapperErr
			if tc.unserved {
				clear(b.mapper.served)
			}
			first := b.keep(groupObject(1, nil))
			want, rest, _ := strings.Cut(tc.wantProblem, ".*")
			if text := strings.Join(first.Problems, "\n"); !strings.Contains(text, want) || !strings.Contains(text, rest) {
				t.Errorf("problems %q, want %q", first.Problems, tc.wantProblem)
			}
			if first.Hold != "" || first.LookAgain == 0 {
				t.Errorf("report %+v, want another look and no Pods held up", first)
			}
			if diff := cmp.Diff(first, b.keep(groupObject(1, nil))); diff != "" {
				t.Errorf("the report flaps:\n%s", diff)
			}
		})
	}
}

func TestAPIThatIsInstalledLater(t *testing.T) {
	b := newBench(t, nil)
	installed := maps.Clone(b.mapper.served)
	clear(b.mapper.served)
	b.keep(groupObject(1, nil))
	asked := b.mapper.asked
	for range 100 {
		b.keep(groupObject(1, nil))
	}
	if b.mapper.asked != asked {
		t.Errorf("asked %d more times within %s", b.mapper.asked-asked, optionalapi.AbsentFor)
	}
	delete(installed, schema.GroupVersionKind{Group: "test.io", Version: "v2", Kind: "PodGroup"})
	b.mapper.served = installed
	b.clock.Step(optionalapi.AbsentFor)
	if got := b.keep(groupObject(1, nil)); len(got.Problems) > 0 {
		t.Errorf("problems %q after the API was installed", got.Problems)
	}
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("test.io/v1") // the one that is served
	u.SetKind("PodGroup")
	if err := b.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "demo"}, u); err != nil {
		t.Error(err)
	}
}

// TestContendedObjectIsPutRightLessOften: objects of a scheduler have the back-off of all children, which ends with a changed wish.
func TestContendedObjectIsPutRightLessOften(t *testing.T) {
	b := newBench(t, nil)
	b.keep(groupObject(3, nil))
	patches, last := 0, Report{}
	contend := func(wish gang.Object) {
		t.Helper()
		u := b.get("PodGroup")
		if err := unstructured.SetNestedField(u.Object, int64(9), "spec", "size"); err != nil {
			t.Fatal(err)
		}
		if err := b.client.Update(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		last = b.keep(wish)
		patches += len(b.writes)
	}
	for range 10 {
		contend(groupObject(3, nil))
	}
	if text := strings.Join(last.Problems, "\n"); patches != 3 || !strings.Contains(text, "changed by something else") || last.LookAgain == 0 || last.Hold != "" {
		t.Errorf("%d patches of what something else changes back, report %+v", patches, last)
	}
	if contend(groupObject(5, nil)); patches != 4 || len(last.Problems) > 0 {
		t.Errorf("%d patches after the wish changed, problems %q", patches, last.Problems)
	}
}

func TestNameTakenSinceTheLook(t *testing.T) {
	b := newBench(t, func(verb, _ string) error {
		if verb == "create" {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "podgroups"}, "demo")
		}
		return nil
	})
	if got := b.keep(groupObject(1, nil)); len(got.Problems) > 0 || got.LookAgain == 0 {
		t.Errorf("report %+v, want another look", got)
	}
}

func TestSame(t *testing.T) {
	cases := map[string]struct {
		a, b any
		want bool
	}{
		"numbers":            {int64(1), int64(1), true},
		"other numbers":      {int64(1), int64(2), false},
		"amounts":            {"1", "1000m", true},
		"other amounts":      {"1", "2", false},
		"words":              {"a", "b", false},
		"a number and a way": {"1", int64(1), false},
		"objects":            {map[string]any{"cpu": "1"}, map[string]any{"cpu": "1000m"}, true},
		"one key more":       {map[string]any{"cpu": "1"}, map[string]any{"cpu": "1", "gpu": "1"}, false},
		"object and none":    {map[string]any{}, nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := same(tc.a, tc.b); got != tc.want {
				t.Errorf("same(%v, %v) = %v, want %v", tc.a, tc.b, got, tc.want)
			}
		})
	}
}

// TestKubernetesGangGrowsInPlace: from Kubernetes 1.37 on the size of a gang can be changed, and what the API server has
// filled in next to it must stay.
func TestKubernetesGangGrowsInPlace(t *testing.T) {
	b := newBench(t, nil)
	keep := func(n int64) {
		t.Helper()
		w := &gang.Workload{Owner: owner, Members: []gang.Member{{Name: rayv1.HeadGroupName, Desired: n}}}
		w.Owner.Labels = map[string]string{rayv1.LabelGangSchedulingEnabled: "true"}
		b.writes = nil
		if got := b.keeper.Keep(t.Context(), w, workloadaware.Scheduler{}.Plan(w)); len(got.Problems) > 0 || got.Hold != "" {
			t.Fatalf("report %+v", got)
		}
	}
	workload := &unstructured.Unstructured{}
	workload.SetAPIVersion("scheduling.k8s.io/v1beta1")
	workload.SetKind("Workload")
	read := func() map[string]any {
		t.Helper()
		if err := b.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "demo"}, workload); err != nil {
			t.Fatal(err)
		}
		template, _ := at(workload.Object, "/spec/podGroupTemplates/0")
		return template.(map[string]any)
	}
	keep(3)
	read()["priority"] = int64(7)
	if err := b.client.Update(t.Context(), workload); err != nil {
		t.Fatal(err)
	}
	keep(5)
	if diff := cmp.Diff([]string{"patch Workload", "patch PodGroup"}, b.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	want := map[string]any{"name": "cluster", "priority": int64(7), "schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(5)}}}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
	if keep(5); len(b.writes) > 0 {
		t.Errorf("writes %v without a change", b.writes)
	}
}
