package service_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/history"
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
