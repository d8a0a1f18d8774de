package rayjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/suite"
	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/history"
	_ "github.com/raygate/raygate/pkg/history/drivers"
)

// archiveTo returns an Archive that writes to an S3 server, with the limit of a deletion.
func (w *world) archiveTo(server string, limit time.Duration) *archive.Archive {
	w.T.Helper()
	query := url.Values{"region": {"us-east-1"}, "endpoint": {server}, "use_path_style": {"true"}, "anonymous": {"true"}}
	a, _ := w.archiveAt(w.T.Context(), "s3://history?"+query.Encode(), limit)
	return a
}

// archiveAt returns an Archive with its store, which works until the end of the context.
func (w *world) archiveAt(ctx context.Context, address string, limit time.Duration) (*archive.Archive, *history.Store) {
	w.T.Helper()
	store, err := history.Open(ctx, address, history.Limits{})
	if err != nil {
		w.T.Fatal(err)
	}
	a := archive.New(archive.Config{
		Store: store, Cache: w.Client, Live: w.Client, Clock: clock.RealClock{}, Timeout: limit, FollowAfter: time.Millisecond,
		Dashboards: dashboards.New(w.connect, w.Client, clock.RealClock{}),
	})
	go func() { _ = a.Start(ctx) }()
	return a, store
}

// TestHeadIsLost shows that the log until the head died is kept, also if the operator starts again in between. In make test-all it has 100 MB.
func TestHeadIsLost(t *testing.T) {
	t.Parallel()
	const line = "a line of the log\n"
	log := strings.Repeat(line, 1<<20/len(line)) + "no end"
	if suite.IsAll() {
		log = strings.Repeat(log, 100)
	}
	w, folder := newWorld(t), "file://"+t.TempDir()
	var store *history.Store
	start := func() (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		end := w.startOperator(func(c *Config) { c.Archive, store = w.archiveAt(ctx, folder, time.Minute) })
		return func() { cancel(); end() }
	}
	stop := start()
	w.Create(w.job("demo", inMode(rayv1.HTTPMode)))
	j := w.runs("demo")
	id, rc := j.Status.JobId, w.clusterOf("demo")
	w.Eventually("the job in Ray", func() bool { return w.get("demo").Status.JobStatus != "" })
	w.dash.Set(id, dashboard.Running, "")
	stored := func(n int) {
		t.Helper()
		w.Eventually(fmt.Sprintf("%d bytes of the log", n), func() bool {
			p, err := store.Spool(t.Context(), archive.KeyOfJob(w.get("demo")))
			return err == nil && p.End() >= int64(n)
		})
	}
	w.dash.Write(id, log[:len(log)/2])
	stored(1 << 18)
	stop()
	stop = start()
	defer stop()
	w.dash.Write(id, log[len(log)/2:])
	stored(len(log) * 5 / 8)
	w.dash.Fail(errors.New("the head is gone")) // breaks the stream, so that the rest is stored
	stored(len(log))
	if err := w.Client.Delete(t.Context(), rc); err != nil {
		t.Fatal(err)
	}
	w.eventuallyIn("demo", rayv1.JobDeploymentStatusFailed)
	w.oneEvent("demo", "HistoryIncomplete")
	r, err := store.Find(t.Context(), archive.KeyOfJob(w.get("demo")))
	if err != nil {
		t.Fatal(err)
	}
	in, err := store.Log(t.Context(), r.Key, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	text, err := io.ReadAll(in)
	got, mark, _ := strings.Cut(string(text), "\n[raygate: the rest of the log is missing: ")
	if err != nil || got != log || mark == "" {
		t.Errorf("%d bytes of %d are kept, and the mark %q, %v", len(got), len(log), mark, err)
	}
}

// TestStoreFails shows that the cluster of a job, and the job, are deleted although the history store fails, and that an event reports
// the loss.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	refuse := func(w http.ResponseWriter, status int, code string) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
	}
	for name, tc := range map[string]struct {
		store http.HandlerFunc // nil for a server that is away
		limit time.Duration
		lost  string // part of the event; empty for none
	}{
		"away":      {nil, 2 * time.Second, "could not be recorded in time"},
		"hangs":     {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 2 * time.Second, "could not be recorded in time"},
		"forbidden": {func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusForbidden, "AccessDenied") }, 10 * time.Second, "403"},
		"full": {func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			refuse(w, http.StatusInsufficientStorage, "XMinioStorageFull")
		}, 10 * time.Second, "XMinioStorageFull"},
		"slow": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			time.Sleep(300 * time.Millisecond)
			if w.Header().Set("ETag", `"1"`); r.Method == http.MethodHead {
				w.WriteHeader(http.StatusNotFound)
			}
		}, time.Minute, ""}, // so that a slow machine loses nothing
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(tc.store)
			if tc.store == nil {
				server.Close()
			}
			t.Cleanup(func() {
				server.CloseClientConnections()
				server.Close()
			})
			w := newWorld(t)
			w.startOperator(func(c *Config) { c.Archive, c.Limits.History = w.archiveTo(server.URL, tc.limit), tc.limit })
			w.Create(w.job("demo", inMode(rayv1.HTTPMode)))
			j := w.runs("demo")
			rc := w.clusterOf("demo")
			w.Eventually("the job in Ray", func() bool { return w.get("demo").Status.JobStatus != "" })
			w.dash.Write(j.Status.JobId, "a log")
			w.dash.Set(j.Status.JobId, dashboard.Succeeded, "done")
			w.eventuallyIn("demo", rayv1.JobDeploymentStatusComplete)
			w.gone(rc)
			if tc.lost != "" {
				w.Eventually("the event", func() bool {
					return strings.Contains(strings.Join(w.Events("demo", "HistoryIncomplete"), "\n"), tc.lost)
				})
			} else if got := w.Events("demo", "HistoryIncomplete"); len(got) > 0 {
				t.Errorf("events %q", got)
			}
			if err := w.Client.Delete(t.Context(), j); err != nil {
				t.Fatal(err)
			}
			w.gone(j)
		})
	}
}
