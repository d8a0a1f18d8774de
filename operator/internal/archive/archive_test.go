package archive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gocloud.dev/blob/memblob"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
	"github.com/raygate/raygate/pkg/history"
)

var begin = metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

// stage is an Archive with what surrounds it.
type stage struct {
	*archive.Archive
	ray   *dashboardfake.Dashboard
	store *history.Store
	lists atomic.Int32 // lists of events
}

func about(name, kind, object string, uid types.UID) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "team-a", Name: name, CreationTimestamp: begin},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: object, UID: uid},
	}
}

func newStage(t *testing.T, store func(*history.Store) archive.Store, changes ...func(*archive.Config)) *stage {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), rayv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	s := &stage{ray: dashboardfake.New(clock.RealClock{}), store: history.New(memblob.OpenBucket(nil), history.Limits{})}
	s.ray.Put(dashboard.Job{SubmissionID: "demo-aaaaa", Status: dashboard.Failed})
	s.ray.Write("demo-aaaaa", "hello\nworld")
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "odd", UID: "head", Labels: map[string]string{rayv1.LabelCluster: "demo-bbbbb"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "ray-head", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}}}}},
			Status:     corev1.PodStatus{PodIP: "10.0.0.1"},
		},
		about("a", "RayJob", "demo", "job"), about("b", "RayCluster", "demo-bbbbb", "cluster"), about("c", "Pod", "odd", "head"),
		about("d", "Pod", "demo-bbbbb-gone", "gone"), about("e", "RayJob", "demo", "an earlier one"), about("f", "Pod", "other-head", "other"),
	).WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
		if _, ok := list.(*corev1.EventList); ok {
			s.lists.Add(1)
		}
		return c.List(ctx, list, o...)
	}}).Build()
	config := archive.Config{
		Store: s.store, Cache: c, Live: c, Clock: clock.RealClock{}, Timeout: 6 * time.Second,
		Dashboards: dashboards.New(func(dashboards.Address, dashboard.Token) (dashboard.Client, error) { return s.ray, nil }, c, clock.RealClock{}),
	}
	if store != nil {
		config.Store = store(s.store)
	}
	for _, change := range changes {
		change(&config)
	}
	s.Archive = archive.New(config)
	return s
}

// subject is the second attempt of a RayJob, which failed.
func subject(n int) archive.Subject {
	rc := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "demo-bbbbb", UID: "cluster", CreationTimestamp: begin}}
	name, uid := "demo", types.UID("job")
	if n > 0 {
		name, uid = fmt.Sprint("demo", n), types.UID(fmt.Sprint("job", n))
	}
	j := &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: uid, CreationTimestamp: begin, Labels: map[string]string{"kueue.x-k8s.io/queue-name": "q"}},
		Status: rayv1.RayJobStatus{
			JobId: "demo-aaaaa", RayClusterName: "demo-bbbbb", DashboardURL: "demo:8265", JobStatus: rayv1.JobStatusFailed, StartTime: &begin,
			JobDeploymentStatus: rayv1.JobDeploymentStatusRetrying, Failed: new(int32(2)), Reason: rayv1.AppFailed, Message: "exit 1",
		},
	}
	s := archive.JobSubject(j, rc, begin.Add(time.Minute))
	s.Site = new(dashboards.SiteOf(rc, "demo:8265"))
	return s
}

// keep stores a record and returns the outcome.
func (s *stage) keep(t *testing.T, about archive.Subject) archive.Outcome {
	t.Helper()
	done := make(chan struct{})
	s.Keep(about, func() { close(done) })
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("no outcome")
	}
	return s.Outcome(about.Key)
}

func TestRecord(t *testing.T) {
	s := newStage(t, nil)
	about := subject(0)
	if o := s.keep(t, about); o != (archive.Outcome{Done: true}) {
		t.Fatalf("outcome %+v", o)
	}
	r, err := s.store.Find(t.Context(), history.Key{Kind: "RayJob", Namespace: "team-a", Name: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	want := about.Summary
	want.HasLog, want.LogBytes = true, 11
	if diff := cmp.Diff(want, r.Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if r.Attempt != 2 || r.Result != "FAILED" || r.Queue != "q" || !strings.Contains(string(r.Object), `"kind":"RayJob"`) ||
		!strings.Contains(string(r.RayCluster), `"kind":"RayCluster"`) || !strings.Contains(string(r.RayJob), "FAILED") {
		t.Errorf("record %+v", r)
	}
	if len(r.Events) != 4 || len(r.Pods) != 1 || strings.Contains(string(r.Pods[0]), "hunter2") {
		t.Errorf("%d events, Pods %s", len(r.Events), r.Pods)
	}
	log, err := s.store.Log(t.Context(), r.Key, 0)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(log); err != nil || string(text) != "hello\nworld" {
		t.Errorf("log %q, %v", text, err)
	}

	restarted := newStage(t, func(*history.Store) archive.Store { return s.store })
	if o := restarted.keep(t, about); o != (archive.Outcome{Done: true}) || restarted.lists.Load() != 0 {
		t.Errorf("after a restart: %+v, %d lists", o, restarted.lists.Load())
	}
}

// TestDashboardFails shows that a dashboard that hangs or is away costs its log alone.
func TestDashboardFails(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*stage, *archive.Subject)
		lost   string
	}{
		"hangs":          {func(s *stage, _ *archive.Subject) { s.ray.Hang(true) }, "the log is missing"},
		"is away":        {func(s *stage, _ *archive.Subject) { s.ray.Fail(errors.New("connection refused")) }, "connection refused"},
		"forgot the job": {func(s *stage, _ *archive.Subject) { s.ray.Forget() }, "the log is missing"},
		"is gone":        {func(_ *stage, a *archive.Subject) { a.Site = nil }, "the cluster is gone"},
		"never had it": {func(s *stage, a *archive.Subject) {
			s.ray.Forget()
			a.HadJob = false
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, about := newStage(t, nil), subject(0)
			tc.change(s, &about)
			o := s.keep(t, about)
			if !o.Done || !strings.Contains(o.Lost, tc.lost) || (o.Lost == "") != (tc.lost == "") {
				t.Errorf("outcome %+v", o)
			}
			if r, err := s.store.Get(t.Context(), about.Key); err != nil || len(r.Events) != 4 || r.HasLog {
				t.Errorf("record %+v, %v", r, err)
			}
		})
	}
}

// failing is a store that fails a number of times, or hangs.
type failing struct {
	*history.Store
	left  atomic.Int32
	hangs bool
}

func (f *failing) Has(ctx context.Context, k history.Key) (bool, error) {
	if f.hangs {
		<-ctx.Done()
		return false, ctx.Err()
	}
	if f.left.Add(-1) >= 0 {
		return false, errors.New("403 Forbidden")
	}
	return f.Store.Has(ctx, k)
}

func (f *failing) Spool(ctx context.Context, k history.Key) (*history.Spool, error) {
	if f.left.Add(-1) >= 0 {
		return nil, errors.New("403 Forbidden")
	}
	return f.Store.Spool(ctx, k)
}

func TestStoreFails(t *testing.T) {
	t.Parallel()
	var f *failing
	s := newStage(t, func(store *history.Store) archive.Store {
		f = &failing{Store: store}
		f.left.Store(1)
		return f
	})
	about, begin := subject(0), time.Now()
	o := s.keep(t, about)
	if o.Done || !strings.Contains(o.Failure, "403") || o.Retry+time.Since(begin) < 3*time.Second || o.Retry > 3*time.Second {
		t.Fatalf("outcome %+v", o)
	}
	s.Keep(about, func() { t.Error("tried again at once") })
	time.Sleep(o.Retry + 10*time.Millisecond)
	if o := s.keep(t, about); o != (archive.Outcome{Done: true}) {
		t.Errorf("outcome of the second attempt: %+v", o)
	}
	s.Forget("job")
	if o := s.Outcome(about.Key); o != (archive.Outcome{}) {
		t.Errorf("known after Forget: %+v", o)
	}
}

func TestStoreHangs(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(store *history.Store) archive.Store { return &failing{Store: store, hangs: true} })
	o := s.keep(t, subject(0))
	if o.Done || o.Failure == "" {
		t.Errorf("outcome %+v", o)
	}
	time.Sleep(o.Retry + 10*time.Millisecond)
	s.Keep(subject(0), func() {})
	if again := s.Outcome(subject(0).Key); again != (archive.Outcome{Failure: o.Failure}) {
		t.Errorf("while the second attempt runs: %+v", again)
	}
}

// TestListsAreShared shows that records which are made at once need few lists of events.
func TestListsAreShared(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	done := make(chan struct{}, 40)
	for n := range cap(done) {
		s.Keep(subject(n), func() { done <- struct{}{} })
	}
	for range cap(done) {
		<-done
	}
	if n := s.lists.Load(); n > 12 { // of 8 at once
		t.Errorf("%d lists for %d records", n, cap(done))
	}
}

func TestDeletedObjects(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	elsewhere := "kueue.x-k8s.io/multikueue"
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID(name), CreationTimestamp: begin, DeletionTimestamp: &begin}
	}
	owned := meta("demo-bbbbb")
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "RayService", Name: "serve", UID: "serve", Controller: new(true)}}
	active := rayv1.RayServiceStatuses{ActiveServiceStatus: rayv1.RayServiceStatus{RayClusterName: owned.Name}}
	const applications = `{"app":{"status":"RUNNING","deployments":{"d":{"replicas":[{"state":"RUNNING"}]}}}}`
	s.Serve("serve", "old", map[string]json.RawMessage{"applications": json.RawMessage(`{}`)})
	s.Serve("serve", owned.Name, map[string]json.RawMessage{"applications": json.RawMessage(`{}`)})
	s.Serve("serve", owned.Name, map[string]json.RawMessage{"applications": json.RawMessage(applications)})
	s.Serve("large", "", map[string]json.RawMessage{"applications": make(json.RawMessage, 2<<20)})
	for _, o := range []client.Object{
		&rayv1.RayCluster{ObjectMeta: owned, Status: rayv1.RayClusterStatus{State: rayv1.ClusterStateReady}},
		&rayv1.RayService{ObjectMeta: meta("serve"), Status: active},
		&rayv1.RayService{ObjectMeta: meta("large")},
		&rayv1.RayCluster{ObjectMeta: meta("of-another"), Spec: rayv1.RayClusterSpec{ManagedBy: &elsewhere}},
	} {
		s.Deleted().Delete(t.Context(), event.DeleteEvent{Object: o}, nil)
	}
	var got []string
	keys := map[string]history.Key{}
	for deadline := time.Now().Add(time.Minute); len(got) < 3 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		page, err := s.store.List(t.Context(), history.Query{Namespace: "team-a"}, history.Cursor{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		for _, item := range page.Items {
			got = append(got, item.Kind+" "+item.Name+" "+item.Result)
			keys[item.Name] = item.Key
		}
	}
	if diff := cmp.Diff([]string{"RayCluster demo-bbbbb ready", "RayService large unknown", "RayService serve unknown"}, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	for name, want := range map[string]history.Answer{
		owned.Name: {Body: json.RawMessage(`{"applications":` + applications + `}`)}, "serve": {Body: json.RawMessage(`{"applications":` + applications + `}`)},
		"large": {Missing: "it has more than 1048576 bytes"},
	} {
		found, err := s.store.Answers(t.Context(), keys[name])
		if diff := cmp.Diff(history.Answers{"api/serve/applications/": want}, found); err != nil || diff != "" {
			t.Errorf("%s: %v, answers (-want +got):\n%s", name, err, diff)
		}
	}
}
