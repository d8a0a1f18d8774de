package service_test

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/history"
	"github.com/raygate/raygate/test/raysim"
)

// TestLogFromHistory shows that the log of a cluster that is gone comes from the history, and for whom.
func TestLogFromHistory(t *testing.T) {
	const text = "one\ntwo\x00\xff\nthree"
	for name, tc := range map[string]struct {
		record func(*history.Record)
		do     func(*world)
		q      query
		want   string
		code   codes.Code
	}{
		"whole":                     {want: text},
		"followed":                  {q: query{Follow: true}, want: text},
		"from an offset":            {q: query{Offset: 6}, want: text[6:]},
		"from its end":              {q: query{Offset: int64(len(text))}},
		"from beyond its end":       {q: query{Offset: 1 << 40}},
		"last lines":                {q: query{TailLines: new(int32(2))}, want: text[4:]},
		"no lines":                  {q: query{TailLines: new(int32(0))}},
		"no right":                  {do: func(w *world) { w.denied["get services/proxy"] = true }, code: codes.PermissionDenied},
		"of an object deleted":      {record: func(r *history.Record) { r.UID = "earlier" }, code: codes.FailedPrecondition},
		"of another attempt":        {record: func(r *history.Record) { r.JobID = "train-0" }, code: codes.FailedPrecondition},
		"of another namespace":      {record: func(r *history.Record) { r.Namespace = "other" }, code: codes.FailedPrecondition},
		"the history store is away": {do: func(w *world) { _ = w.past.Close() }, code: codes.FailedPrecondition},
	} {
		for transport, read := range transports {
			t.Run(name+"/"+transport, func(t *testing.T) {
				w := newWorld(t)
				w.job(complete, rayv1.JobStatusSucceeded)
				r := &history.Record{Summary: history.Summary{
					Key:   history.Key{Kind: "RayJob", Namespace: "default", Name: "train", UID: "u", Attempt: 1},
					JobID: "train-1", Cluster: "demo",
				}}
				r.RayCluster = json.RawMessage(`{"status":{"head":{"serviceName":"demo-head-svc"}}}`)
				if tc.record != nil {
					tc.record(r)
				}
				if _, err := w.past.Put(t.Context(), r, strings.NewReader(text)); err != nil {
					t.Fatal(err)
				}
				w.change(func() {
					delete(w.objects, "RayCluster/demo")
					if tc.do != nil {
						tc.do(w)
					}
				})
				got, next, err := read(t, w, tc.q)
				if tc.code != codes.OK {
					wantCode(t, "logs", err, tc.code)
					return
				}
				if err != nil || got != tc.want {
					t.Errorf("log %q, %v, want %q", got, err, tc.want)
				}
				if got != "" && transport == "gRPC" && next != int64(len(text)) {
					t.Errorf("next offset %d, want %d", next, len(text))
				}
			})
		}
	}
}

// TestLogOfAttempts shows which log an attempt and a UID choose, while the RayJob exists and after its deletion.
func TestLogOfAttempts(t *testing.T) {
	w := newWorld(t)
	for _, r := range []history.Record{
		{Summary: history.Summary{Key: history.Key{UID: "older", Created: time.Unix(1, 0), Attempt: 1}, Cluster: "demo"}},
		{Summary: history.Summary{Key: history.Key{UID: "u", Created: time.Unix(2, 0), Attempt: 1}, Cluster: "demo"}},
		{Summary: history.Summary{Key: history.Key{UID: "u", Created: time.Unix(2, 0), Attempt: 2}, Cluster: "demo"}},
		{Summary: history.Summary{Key: history.Key{UID: "u", Created: time.Unix(2, 0), Attempt: 3}, Lost: []string{"it was lost"}}},
	} {
		r.Kind, r.Namespace, r.Name = "RayJob", "default", "train"
		var log io.Reader
		if r.Cluster != "" {
			log = strings.NewReader(fmt.Sprint(r.UID, r.Attempt))
		}
		if _, err := w.past.Put(t.Context(), &r, log); err != nil {
			t.Fatal(err)
		}
	}
	w.record(t, "train-1", raysim.Running, "live")
	for state, put := range map[string]func(){
		"running": func() {
			w.job(running, rayv1.JobStatusRunning, func(j *rayv1.RayJob) { j.Status.Failed = new(int32(3)) })
		},
		"retrying": func() {
			w.job(rayv1.JobDeploymentStatusRetrying, rayv1.JobStatusFailed, func(j *rayv1.RayJob) { j.Status.Failed = new(int32(4)) })
		},
		"deleted": func() { w.change(func() { delete(w.objects, "RayJob/train") }) },
	} {
		put()
		for _, tc := range []struct {
			q    query
			in   string // the states
			want string
			code codes.Code
			says []string
		}{
			{q: query{}, in: "running", want: "live"},
			{q: query{Attempt: 4}, in: "running", want: "live"},
			{q: query{UID: "u", Attempt: 4}, in: "running", want: "live"},
			{q: query{Attempt: 4}, in: "retrying", code: codes.FailedPrecondition, says: []string{"has not started"}},
			{q: query{Attempt: 2}, want: "u2"},
			{q: query{UID: "older"}, want: "older1"},
			{q: query{UID: "older", Attempt: 2}, code: codes.NotFound, says: []string{"RayJob train with the UID older has no attempt 2: it has 1"}},
			{q: query{Attempt: 3}, code: codes.FailedPrecondition, says: []string{"it was lost"}},
			{q: query{}, in: "deleted", code: codes.FailedPrecondition, says: []string{"attempt 3", "it was lost"}},
			{q: query{Attempt: 7}, in: "running retrying", code: codes.NotFound, says: []string{"has no attempt 7: it has 1, 2, 3, 4"}},
			{q: query{Attempt: 7}, in: "deleted", code: codes.NotFound, says: []string{"has no attempt 7: it has 1, 2, 3"}},
			{q: query{UID: "other"}, code: codes.NotFound, says: []string{"no record of RayJob train with the UID other"}},
			{q: query{Attempt: -1}, code: codes.InvalidArgument, says: []string{"attempt", "-1", "count from 1"}},
			{q: query{UID: "../u"}, code: codes.InvalidArgument, says: []string{"uid", "metadata.uid"}},
			{q: query{Source: "submitter", Attempt: 1}, code: codes.InvalidArgument, says: []string{"source", "driver"}},
			{q: query{Source: "submitter"}, in: "deleted", code: codes.NotFound},
		} {
			if tc.in != "" && !strings.Contains(tc.in, state) {
				continue
			}
			for transport, read := range transports {
				got, _, err := read(t, w, tc.q)
				what := fmt.Sprintf("%s, %+v by %s", state, tc.q, transport)
				wantCode(t, what, err, tc.code, tc.says...)
				if got != tc.want {
					t.Errorf("%s: %q, want %q", what, got, tc.want)
				}
			}
		}
	}
	for _, right := range []string{"get rayjobs", "get services/proxy"} {
		w.change(func() { w.denied = map[string]bool{right: true} })
		for _, q := range []query{{Attempt: 1}, {UID: "older"}} {
			_, _, err := byGRPC(t, w, q)
			wantCode(t, "without "+right, err, codes.PermissionDenied)
		}
	}
}

// TestNodeLogs shows which log of a node a request chooses, and for whom.
func TestNodeLogs(t *testing.T) {
	w := newWorld(t)
	w.job(running, rayv1.JobStatusRunning, func(j *rayv1.RayJob) { j.Status.Failed = new(int32(1)) })
	for attempt := 1; attempt <= 2; attempt++ {
		r := &history.Record{Summary: history.Summary{Key: history.Key{
			Kind: "RayJob", Namespace: "default", Name: "train", UID: []string{"older", "u"}[attempt-1], Created: time.Unix(int64(attempt), 0), Attempt: 1,
		}, Lost: []string{"n2 is missing"}}}
		r.Nodes = nodeLogs(r.UID)
		if _, err := w.past.Put(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		q    query
		want string
		code codes.Code
		says []string
	}{
		{q: query{File: "raylet.out"}, want: "u: raylet.out\nof n0"},
		{q: query{File: "raylet.out", Attempt: 1, Follow: true}, want: "u: raylet.out\nof n0"},
		{q: query{File: "raylet.out", UID: "older"}, want: "older: raylet.out\nof n0"},
		{q: query{File: "raylet.out", Node: "worker"}, want: "u: raylet.out\nof n1"},
		{q: query{File: "raylet.out", Node: "10.0.0.2"}, want: "u: raylet.out\nof n1"},
		{q: query{File: "gcs_server.out", Node: "n0", Offset: 3}, want: "gcs_server.out\nof n0"},
		{q: query{File: "gcs_server.out", TailLines: new(int32(1))}, want: "of n0"},
		{q: query{File: "gcs_server.out", Offset: 1 << 40}},
		{q: query{File: "gcs_server.out", Node: "n1"}, code: codes.NotFound, says: []string{"log gcs_server.out of this node", "raylet.out"}},
		{q: query{File: "raylet.out", Node: "n2"}, code: codes.NotFound, says: []string{"logs of node n2", "n0, worker", "n2 is missing"}},
		{q: query{File: "raylet.out", Attempt: 2}, code: codes.NotFound, says: []string{"it has 1"}},
		{q: query{Node: "n1"}, code: codes.InvalidArgument, says: []string{"file"}},
		{q: query{File: "raylet.out", Source: "driver"}, code: codes.InvalidArgument, says: []string{"source"}},
	} {
		for transport, read := range transports {
			got, _, err := read(t, w, tc.q)
			what := fmt.Sprintf("%+v by %s", tc.q, transport)
			wantCode(t, what, err, tc.code, tc.says...)
			if got != tc.want {
				t.Errorf("%s: %q, want %q", what, got, tc.want)
			}
		}
	}
	for _, right := range []string{"get rayjobs", "get services/proxy"} {
		w.change(func() { w.denied = map[string]bool{right: true} })
		_, _, err := byGRPC(t, w, query{File: "raylet.out"})
		wantCode(t, "without "+right, err, codes.PermissionDenied)
	}
}

// nodeLogs yields logs of a head and of a worker, with texts that begin with prefix.
func nodeLogs(prefix string) iter.Seq2[history.NodeLog, []byte] {
	return func(yield func(history.NodeLog, []byte) bool) {
		for _, l := range []history.NodeLog{
			{Node: "n0", IP: "10.0.0.1", Head: true, File: "raylet.out", Component: "raylet"}, {Node: "n0", IP: "10.0.0.1", Head: true, File: "gcs_server.out", Component: "gcs_server"},
			{Node: "n1", IP: "10.0.0.2", Pod: "worker", File: "raylet.out", Component: "raylet"},
		} {
			if !yield(l, fmt.Appendf(nil, "%s: %s\nof %s", prefix, l.File, l.Node)) {
				return
			}
		}
	}
}
