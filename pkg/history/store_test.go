package history_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"gocloud.dev/blob/memblob"

	"github.com/raygate/raygate/pkg/history"
	_ "github.com/raygate/raygate/pkg/history/drivers"
)

var (
	begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	small = history.Limits{Log: 1000, Record: 4000}
)

// everywhere runs a test on stores in memory, in a folder and in S3.
func everywhere(t *testing.T, l history.Limits, do func(t *testing.T, s *history.Store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { do(t, history.New(memblob.OpenBucket(nil), l)) })
	t.Run("folder", func(t *testing.T) { do(t, open(t, "file://"+t.TempDir()+"/history", l)) })
	t.Run("S3", func(t *testing.T) { do(t, open(t, bucket(t), l)) })
}

// job returns the record of an attempt that ended some minutes after begin.
func job(name string, attempt, minutes int) *history.Record {
	return &history.Record{
		Summary: history.Summary{
			Key: history.Key{
				Kind: "RayJob", Namespace: "team-a", Name: name, UID: "uid-" + name, Created: begin, Attempt: attempt,
				Started: begin.Add(time.Duration(attempt) * time.Second),
			},
			Ended: begin.Add(time.Duration(minutes) * time.Minute), Result: "FAILED",
		},
		Object: json.RawMessage(`{"kind":"RayJob"}`),
	}
}

func put(t *testing.T, s *history.Store, r *history.Record, log io.Reader) {
	t.Helper()
	if created, err := s.Put(t.Context(), r, log); err != nil || !created {
		t.Fatalf("Put(%s) = %v, %v", r.Name, created, err)
	}
}

func logOf(t *testing.T, s *history.Store, k history.Key, offset int64) string {
	t.Helper()
	in, err := s.Log(t.Context(), k, offset)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLogs(t *testing.T) {
	long := strings.Repeat("0123456789", 300)
	for name, tc := range map[string]struct {
		log  io.Reader
		want string
		lost string
	}{
		"empty":              {strings.NewReader(""), "", ""},
		"without a newline":  {strings.NewReader("a\nb"), "a\nb", ""},
		"binary bytes":       {strings.NewReader("\x00\xff\xfe\n"), "\x00\xff\xfe\n", ""},
		"as long as allowed": {strings.NewReader(long[:1000]), long[:1000], ""},
		"too long": {
			strings.NewReader(long), long[:500] + "\n[raygate: 2000 bytes of the log were cut here]\n" + long[2500:],
			"the log is larger than 1000 bytes: 2000 bytes are missing in it",
		},
		"broken off": {
			io.MultiReader(strings.NewReader("begin"), iotest.ErrReader(errors.New("no answer"))),
			"begin\n[raygate: the rest of the log is missing: no answer]\n", "the end of the log is missing: no answer",
		},
		"broken off late": {
			io.MultiReader(strings.NewReader(long[:800]), iotest.ErrReader(errors.New("no answer"))),
			long[:800] + "\n[raygate: the rest of the log is missing: no answer]\n", "the end of the log is missing: no answer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := history.New(memblob.OpenBucket(nil), small)
			r := job("demo", 1, 1)
			put(t, s, r, iotest.OneByteReader(tc.log))
			got, err := s.Get(t.Context(), r.Key)
			if err != nil {
				t.Fatal(err)
			}
			if text := logOf(t, s, r.Key, 0); text != tc.want {
				t.Errorf("log is %q, want %q", text, tc.want)
			}
			if !got.HasLog || got.LogBytes != int64(len(tc.want)) || strings.Join(got.Lost, "|") != tc.lost {
				t.Errorf("HasLog %v, LogBytes %d, Lost %q", got.HasLog, got.LogBytes, got.Lost)
			}
		})
	}
}

func TestRecordsAreWrittenOnce(t *testing.T) {
	everywhere(t, history.Limits{}, func(t *testing.T, s *history.Store) {
		put(t, s, job("demo", 1, 1), strings.NewReader("first"))
		again := job("demo", 1, 1)
		again.Result = "SUCCEEDED"
		if created, err := s.Put(t.Context(), again, strings.NewReader("second")); err != nil || created {
			t.Errorf("Put again = %v, %v", created, err)
		}
		got, err := s.Get(t.Context(), again.Key)
		if err != nil || got.Result != "FAILED" {
			t.Errorf("Get = %v, %v", got.Result, err)
		}
		if text := logOf(t, s, again.Key, 2); text != "rst" {
			t.Errorf("log from 2 is %q", text)
		}
	})
}

func TestManyWriters(t *testing.T) {
	everywhere(t, history.Limits{}, func(t *testing.T, s *history.Store) {
		var (
			wg      sync.WaitGroup
			mu      sync.Mutex
			created = map[string]int{}
		)
		for i := range 32 {
			wg.Go(func() {
				name := fmt.Sprintf("job-%d", i%4)
				ok, err := s.Put(t.Context(), job(name, 1, i%4), strings.NewReader("log of "+name))
				if err != nil {
					t.Error(err)
				}
				if ok {
					mu.Lock()
					defer mu.Unlock()
					created[name]++
				}
			})
		}
		wg.Wait()
		for i := range 4 { // a folder lets two writers create the same bytes at the same time
			if created[fmt.Sprintf("job-%d", i)] == 0 {
				t.Errorf("created %v", created)
			}
		}
		page, err := s.List(t.Context(), history.Query{Namespace: "team-a"}, history.Cursor{}, 100)
		if err != nil || len(page.Items) != 4 || page.Next != nil {
			t.Errorf("List = %d items, %q, %v", len(page.Items), page.Next, err)
		}
		if text := logOf(t, s, job("job-2", 1, 2).Key, 0); text != "log of job-2" {
			t.Errorf("log is %q", text)
		}
	})
}

func TestFind(t *testing.T) {
	everywhere(t, history.Limits{}, func(t *testing.T, s *history.Store) {
		for attempt := 1; attempt <= 3; attempt++ {
			put(t, s, job("demo", attempt, attempt), nil)
		}
		resumed := job("demo", 2, 9)
		resumed.Started = begin.Add(time.Hour)
		put(t, s, resumed, nil)
		younger := job("demo", 1, 4)
		younger.UID, younger.Created = "another", begin.Add(time.Hour)
		put(t, s, younger, nil)
		put(t, s, job("demo-2", 7, 1), nil)

		name := history.Key{Kind: "RayJob", Namespace: "team-a", Name: "demo"}
		for text, tc := range map[string]struct {
			change func(*history.Key)
			want   history.Key
		}{
			"newest object":      {func(*history.Key) {}, younger.Key},
			"by uid":             {func(k *history.Key) { k.UID = "uid-demo" }, job("demo", 3, 3).Key},
			"by attempt":         {func(k *history.Key) { k.UID, k.Attempt = "uid-demo", 3 }, job("demo", 3, 3).Key},
			"of an older object": {func(k *history.Key) { k.Attempt = 3 }, history.Key{}},
			"attempt ran again":  {func(k *history.Key) { k.UID, k.Attempt = "uid-demo", 2 }, resumed.Key},
			"unknown attempt":    {func(k *history.Key) { k.Attempt = 4 }, history.Key{}},
			"another namespace":  {func(k *history.Key) { k.Namespace = "team-b" }, history.Key{}},
			"beginning of a uid": {func(k *history.Key) { k.UID = "uid" }, history.Key{}},
		} {
			k := name
			tc.change(&k)
			r, err := s.Find(t.Context(), k)
			switch {
			case tc.want.Name == "":
				if !errors.Is(err, history.ErrNotFound) {
					t.Errorf("%s: %v", text, err)
				}
			case err != nil:
				t.Errorf("%s: %v", text, err)
			case r.UID != tc.want.UID || r.Attempt != tc.want.Attempt || !r.Started.Equal(tc.want.Started):
				t.Errorf("%s: %v, want %v", text, r.Key, tc.want)
			}
		}
	})
}

func TestList(t *testing.T) {
	everywhere(t, history.Limits{}, func(t *testing.T, s *history.Store) {
		for i := range 7 {
			put(t, s, job(fmt.Sprintf("job-%d", i), 1, i), nil)
		}
		cluster := job("cluster", 0, 3)
		cluster.Kind = "RayCluster"
		put(t, s, cluster, nil)
		other := job("other", 1, 3)
		other.Namespace = "team"
		put(t, s, other, nil)

		q := func(change func(*history.Query)) history.Query {
			q := history.Query{Namespace: "team-a", Kinds: []string{"RayJob"}}
			change(&q)
			return q
		}
		for text, tc := range map[string]struct {
			query history.Query
			want  []string
		}{
			"a kind":       {q(func(*history.Query) {}), []string{"job-6", "job-5", "job-4", "job-3", "job-2", "job-1", "job-0"}},
			"all kinds":    {history.Query{Namespace: "team-a", Since: begin.Add(3 * time.Minute), Until: begin.Add(4 * time.Minute)}, []string{"cluster", "job-3"}},
			"a name":       {q(func(q *history.Query) { q.Name = "job-2" }), []string{"job-2"}},
			"since, until": {q(func(q *history.Query) { q.Since, q.Until = begin.Add(2*time.Minute), begin.Add(5*time.Minute) }), []string{"job-4", "job-3", "job-2"}},
			"a match": {q(func(q *history.Query) {
				q.Match = func(s *history.Summary) bool { return s.Name == "job-5" || s.Name < "job-3" }
			}), []string{"job-5", "job-2", "job-1", "job-0"}},
			"nothing": {q(func(q *history.Query) { q.Name = "job" }), nil},
		} {
			for size := 1; size < 9; size++ {
				if diff := cmp.Diff(tc.want, listed(t, s, tc.query, size)); diff != "" {
					t.Errorf("%s, %d a page (-want +got):\n%s", text, size, diff)
				}
			}
		}
		if names, err := s.Namespaces(t.Context()); err != nil || !cmp.Equal([]string{"team", "team-a"}, names) {
			t.Errorf("Namespaces = %v, %v", names, err)
		}
	})
}

// listed returns the names on all pages.
func listed(t *testing.T, s *history.Store, q history.Query, size int) (names []string) {
	t.Helper()
	for from := (history.Cursor{}); ; {
		page, err := s.List(t.Context(), q, from, size)
		if err != nil || len(page.Items) > size {
			t.Fatalf("%d items, %v", len(page.Items), err)
		}
		for _, item := range page.Items {
			names = append(names, item.Name)
		}
		if page.Next == nil {
			return names
		}
		from = *page.Next
	}
}

func TestRecordIsCut(t *testing.T) {
	s := history.New(memblob.OpenBucket(nil), small)
	r := job("demo", 1, 1)
	for i := range 100 {
		r.Events = append(r.Events, json.RawMessage(fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat("x", 20))))
	}
	r.Pods = []json.RawMessage{json.RawMessage(`"` + strings.Repeat("y", 2000) + `"`)}
	put(t, s, r, nil)
	got, err := s.Get(t.Context(), r.Key)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"the older half of the events is missing: the record was too large", "the Pods are missing: the record was too large"}
	if diff := cmp.Diff(want, got.Lost); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	if len(got.Events) != 50 || !bytes.HasPrefix(got.Events[0], []byte(`{"n":50`)) || string(got.Object) != `{"kind":"RayJob"}` {
		t.Errorf("%d events, object %s", len(got.Events), got.Object)
	}
}

// TestNodeLogs reads logs of nodes back, whose texts are one object.
func TestNodeLogs(t *testing.T) {
	everywhere(t, history.Limits{}, func(t *testing.T, s *history.Store) {
		texts := map[string]string{"raylet.out": "one", "raylet.err": "\x00\xff\n", "gcs_server.out": "three"}
		r := job("demo", 1, 1)
		r.Nodes = func(yield func(history.NodeLog, []byte) bool) {
			for _, file := range []string{"raylet.out", "raylet.err", "gcs_server.out"} {
				_ = yield(history.NodeLog{Node: "n1", File: file}, []byte(texts[file]))
			}
			r.Lost = append(r.Lost, "lost while they were written")
		}
		put(t, s, r, nil)
		got, err := s.Get(t.Context(), r.Key)
		if err != nil || len(got.NodeLogs) != len(texts) || got.HasLog || len(got.Lost) != 1 {
			t.Fatalf("record %+v, %v", got, err)
		}
		for _, l := range got.NodeLogs {
			for offset := range int64(4) {
				in, err := s.NodeLog(t.Context(), r.Key, l, offset)
				if err != nil {
					t.Fatal(err)
				}
				if text, err := io.ReadAll(in); err != nil || string(text) != texts[l.File][offset:] {
					t.Errorf("%s from %d on: %q, %v", l.File, offset, text, err)
				}
				_ = in.Close()
			}
		}
		if _, err := s.Sweep(t.Context(), "team-a", begin.Add(time.Hour), history.Retention{Age: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.NodeLog(t.Context(), r.Key, got.NodeLogs[0], 0); !errors.Is(err, history.ErrNotFound) {
			t.Errorf("a log of a deleted record: %v", err)
		}
	})
}

// TestFailingStore shows that a record of which the log was not stored does not exist.
func TestFailingStore(t *testing.T) {
	everywhere(t, history.Limits{}, func(t *testing.T, s *history.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		r := job("demo", 1, 1)
		log := io.MultiReader(strings.NewReader("begin"), stopping{cancel})
		if _, err := s.Put(ctx, r, log); err == nil {
			t.Error("Put succeeded")
		}
		if ok, err := s.Has(t.Context(), r.Key); ok || err != nil {
			t.Errorf("Has = %v, %v", ok, err)
		}
		put(t, s, job("demo", 1, 1), strings.NewReader("whole"))
		if text := logOf(t, s, r.Key, 0); text != "whole" {
			t.Errorf("log is %q", text)
		}
	})
}

// stopping ends a context when it is read.
type stopping struct{ stop context.CancelFunc }

func (s stopping) Read([]byte) (int, error) {
	s.stop()
	return 0, io.EOF
}

func TestOpenRefuses(t *testing.T) {
	for _, address := range []string{"", "folder", "s3://key:secret@bucket", "nosuch://bucket?secret=hidden"} {
		_, err := history.Open(t.Context(), address, history.Limits{})
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("Open(%q) = %v", address, err)
		}
	}
}
