package packages

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/gcerrors"
	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/history"
)

// world has the RayJobs of all namespaces.
type world struct {
	*Store
	clock *clocktesting.FakePassiveClock
	jobs  map[types.NamespacedName]*rayv1.RayJob
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{clock: clocktesting.NewFakePassiveClock(time.Now()), jobs: map[types.NamespacedName]*rayv1.RayJob{}}
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	w.Store = New(Options{
		Bucket: history.NewBucket(bucket, 0), URL: &url.URL{Scheme: "https", Host: "gateway.example:8888"}, Job: w.job, Jobs: w.all, MaxSize: 100, NamespaceSize: 250, Keep: 10 * time.Hour, Clock: w.clock,
	})
	return w
}

func (w *world) job(_ context.Context, key types.NamespacedName) (*store.Item, error) {
	if job := w.jobs[key]; job != nil {
		return itemOf(job)
	}
	return nil, errors.New("not found")
}

func (w *world) all(_ context.Context, namespace string) (all []*store.Item, err error) {
	for key, job := range w.jobs {
		if item, e := itemOf(job); key.Namespace == namespace {
			all, err = append(all, item), errors.Join(err, e)
		}
	}
	return all, err
}

func itemOf(job *rayv1.RayJob) (*store.Item, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	return store.ParseItem(text)
}

func nameOf(content string) string {
	return fmt.Sprintf("_ray_pkg_%x.zip", sha256.Sum256([]byte(content)))
}

func (w *world) put(t *testing.T, namespace, content string) error {
	t.Helper()
	return w.Put(t.Context(), namespace, nameOf(content), int64(len(content)), strings.NewReader(content))
}

// use makes a RayJob with the URL of a package, and returns the path below Prefix.
func (w *world) use(t *testing.T, namespace, job, content string) string {
	t.Helper()
	address, err := w.URLFor(namespace, nameOf(content), job)
	if err != nil {
		t.Fatal(err)
	}
	w.jobs[types.NamespacedName{Namespace: namespace, Name: job}] = &rayv1.RayJob{Spec: rayv1.RayJobSpec{RuntimeEnvYAML: "working_dir: " + address}}
	path, ok := strings.CutPrefix(address, "https://gateway.example:8888"+Prefix)
	if !ok || !strings.HasSuffix(path, ".zip") {
		t.Fatalf("the URL is %s", address)
	}
	return path
}

func (w *world) read(t *testing.T, path string) string {
	t.Helper()
	in, size, err := w.Open(t.Context(), path)
	if errors.Is(err, errNoPackage) {
		return "refused"
	}
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil || int64(len(text)) != size {
		t.Errorf("%d bytes, size %d, %v", len(text), size, err)
	}
	return string(text)
}

func (w *world) has(t *testing.T, namespace, content string) bool {
	t.Helper()
	found, err := w.Has(t.Context(), namespace, nameOf(content))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestURL: a URL opens one package for one RayJob, until that has ended.
func TestURL(t *testing.T) {
	w := newWorld(t)
	if err := w.put(t, "a", "files"); err != nil {
		t.Fatal(err)
	}
	path := w.use(t, "a", "train", "files")
	key := types.NamespacedName{Namespace: "a", Name: "train"}
	job := w.jobs[key]
	for what, edit := range map[string]func(*rayv1.RayJob){
		"it has completed": func(j *rayv1.RayJob) { j.Status.JobDeploymentStatus = rayv1.JobDeploymentStatusComplete },
		"it has failed":    func(j *rayv1.RayJob) { j.Status.JobDeploymentStatus = rayv1.JobDeploymentStatusFailed },
		"it does not have the URL": func(j *rayv1.RayJob) {
			j.Spec.RuntimeEnvYAML = "working_dir: https://gateway.example:8888/packages/other.zip"
		},
		"it is being deleted":       func(j *rayv1.RayJob) { j.DeletionTimestamp = new(metav1.Now()) },
		"it is gone":                nil,
		"nothing: it still runs":    func(j *rayv1.RayJob) { j.Status.JobDeploymentStatus = rayv1.JobDeploymentStatusRunning },
		"nothing: it is tried anew": func(j *rayv1.RayJob) { j.Status.JobDeploymentStatus = rayv1.JobDeploymentStatusRetrying },
	} {
		delete(w.jobs, key)
		if edit != nil {
			changed := job.DeepCopy()
			edit(changed)
			w.jobs[key] = changed
		}
		want := "refused"
		if strings.HasPrefix(what, "nothing") {
			want = "files"
		}
		if got := w.read(t, path); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	w.jobs[key] = job
	changed := "A" + path[1:]
	if changed == path { // the path is random
		changed = "B" + path[1:]
	}
	for what, bad := range map[string]string{"changed": changed, "another suffix": strings.TrimSuffix(path, ".zip"), "empty": "", "a name": nameOf("files"), "a path": "../" + path} {
		if got := w.read(t, bad); got != "refused" {
			t.Errorf("%s: %q", what, got)
		}
	}
	if _, err := w.URLFor("a", nameOf("files"), strings.Repeat("x", 200)); err == nil {
		t.Error("want an error for a URL that Ray cannot use")
	}
}

// TestContentIsChecked: nobody stores other files under the name of a package.
func TestContentIsChecked(t *testing.T) {
	w := newWorld(t)
	for what, tc := range map[string]struct {
		name, content string
	}{
		"other content": {nameOf("files"), "other"}, "no sum": {"_ray_pkg_0123.zip", "x"}, "a path": {"_ray_pkg_../../../x.zip", "x"}, "too large": {nameOf(strings.Repeat("x", 101)), strings.Repeat("x", 101)},
	} {
		err := w.Put(t.Context(), "a", tc.name, int64(len(tc.content)), strings.NewReader(tc.content))
		status, _ := rpcstatus.NewTable().Status(err, "")
		if status.Code() != codes.InvalidArgument {
			t.Errorf("%s: %v", what, err)
		}
	}
	if w.has(t, "a", "files") {
		t.Error("the package is there")
	}
}

// TestRoom: the oldest packages are deleted for new ones, and those of RayJobs that have not ended are kept.
func TestRoom(t *testing.T) {
	w := newWorld(t)
	content := func(c string) string { return strings.Repeat(c, 100) }
	for _, c := range []string{"1", "2"} {
		if err := w.put(t, "a", content(c)); err != nil {
			t.Fatal(err)
		}
	}
	w.use(t, "a", "train", content("1"))
	full, _ := errors.AsType[*rpcstatus.Error](w.put(t, "a", content("3")))
	if full == nil || full.Reason != "PACKAGES_FULL" {
		t.Errorf("want PACKAGES_FULL while all packages are new, got %v", full)
	}
	if err := w.put(t, "b", content("3")); err != nil {
		t.Errorf("another namespace: %v", err)
	}
	w.clock.SetTime(w.clock.Now().Add(2 * newTime))
	if err := w.put(t, "a", content("3")); err != nil {
		t.Fatal(err)
	}
	if !w.has(t, "a", content("1")) || w.has(t, "a", content("2")) || !w.has(t, "a", content("3")) {
		t.Error("want the package without a job deleted, and no other")
	}

	w.clock.SetTime(w.clock.Now().Add(w.Keep))
	if w.has(t, "a", content("1")) {
		t.Error("an old package counts as there, so that it may be deleted before a job uses it")
	}
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept, err := w.list(t.Context(), "a")
	if others, _ := w.list(t.Context(), "b"); err != nil || len(kept) != 1 || len(others) != 0 {
		t.Errorf("%d packages of a, want that of the job; %d of b, want none; %v", len(kept), len(others), err)
	}
}

// silent is a store that does not answer: to a listing, or to all else.
type silent struct {
	driver.Bucket

	lists bool
}

func wait[T any](ctx context.Context) (none T, err error) {
	<-ctx.Done()
	return none, ctx.Err()
}

func (s silent) ListPaged(ctx context.Context, _ *driver.ListOptions) (*driver.ListPage, error) {
	if s.lists {
		return &driver.ListPage{}, nil
	}
	return wait[*driver.ListPage](ctx)
}

func (silent) Attributes(ctx context.Context, _ string) (*driver.Attributes, error) {
	return wait[*driver.Attributes](ctx)
}

func (silent) NewRangeReader(ctx context.Context, _ string, _, _ int64, _ *driver.ReaderOptions) (driver.Reader, error) {
	return wait[driver.Reader](ctx)
}

func (silent) NewTypedWriter(ctx context.Context, _, _ string, _ *driver.WriterOptions) (driver.Writer, error) {
	return silentWriter{ctx}, nil
}

func (silent) ErrorCode(error) gcerrors.ErrorCode { return gcerrors.Unknown }
func (silent) ErrorAs(error, any) bool            { return false }
func (silent) Close() error                       { return nil }

type silentWriter struct{ ctx context.Context }

func (w silentWriter) Write([]byte) (int, error) { return wait[int](w.ctx) }
func (w silentWriter) Close() error              { return w.ctx.Err() }

// TestSilentStore: every request to a store that does not answer ends, and callers can try again.
func TestSilentStore(t *testing.T) {
	w := newWorld(t)
	path := w.use(t, "a", "train", "files")
	has := func() error { _, err := w.Has(t.Context(), "a", nameOf("files")); return err }
	open := func() error { _, _, err := w.Open(t.Context(), path); return err }
	put := func() error { return w.put(t, "a", "files") }
	for name, tc := range map[string]struct {
		lists bool
		do    func() error
	}{
		"look": {true, has}, "read": {true, open}, "make room": {false, put}, "write": {true, put}, "sweep": {false, func() error { return w.Sweep(t.Context()) }},
	} {
		t.Run(name, func(t *testing.T) {
			w.Bucket = history.NewBucket(blob.NewBucket(silent{lists: tc.lists}), 20*time.Millisecond)
			if known, ok := errors.AsType[*rpcstatus.Error](tc.do()); !ok || known.Reason != "PACKAGES_UNAVAILABLE" {
				t.Errorf("error %v", known)
			}
		})
	}
}
