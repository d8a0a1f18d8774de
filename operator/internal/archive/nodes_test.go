package archive_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/history"
)

const (
	listedNodes = "api/v0/nodes?limit=1000&filter_keys=state&filter_predicates=%3D&filter_values=ALIVE"
	logsOf      = "api/v0/logs?node_id="
	mark        = "[raygate: the beginning of the log was cut here]\n"
)

// withNodeLogs makes room for four logs.
func withNodeLogs(c *archive.Config) { c.NodeLogs, c.Timeout = 4*archive.NodeLog, 12*time.Second }

// nodeLogs returns the logs of nodes in the record, as NODE/FILE, in their order.
func (s *stage) nodeLogs(t *testing.T, k history.Key) (names []string, texts map[string]string) {
	t.Helper()
	r, err := s.store.Get(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	texts = map[string]string{}
	for _, l := range r.NodeLogs {
		in, err := s.store.NodeLog(t.Context(), k, l, 0)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		_ = in.Close()
		name := l.Name() + "/" + l.File
		names, texts[name] = append(names, name), string(text)
	}
	return names, texts
}

// TestNodeLogs keeps the logs that explain a failure, the head's first. A node that hangs costs only its own logs.
func TestNodeLogs(t *testing.T) {
	t.Parallel()
	s, about := newStage(t, nil, withNodeLogs), subject(0)
	s.ray.Put(dashboard.Job{SubmissionID: about.JobID, JobID: "02000000", Status: dashboard.Failed})
	s.ray.Write(about.JobID, "hello")
	node := func(id, ip, head string) string {
		return `{"node_id":"` + id + `","node_ip":"` + ip + `","is_head_node":` + head + `}`
	}
	list := func(files string) string { return `{"result":true,"data":{"result":` + files + `}}` }
	s.ray.SetAnswers(map[string]string{
		listedNodes:                         `{"data":{"result":{"result":[` + node("n1", "10.0.0.2", "false") + `,` + node("n2", "10.0.0.3", "false") + `,` + node("n0", "10.0.0.1", "true") + `]}}}`,
		logsOf + "n0":                       list(`{"raylet":["raylet.out","raylet.err"],"gcs_server":["gcs_server.out"],"internal":["log_monitor.log","old/","../x.log"],"dashboard":["dashboard.log"]}`),
		logsOf + "n1":                       "", // hangs
		logsOf + "n2":                       list(`{"worker_err":["worker-ab-02000000-7.err","worker-ab-03000000-8.err","worker-ac-ffffffff-9.err","worker-ad-ffffffff-10.err"],"agent":["dashboard_agent.log"],"internal":["runtime_env_setup-01000000.log"]}`),
		"n0/raylet.out":                     strings.Repeat("a line\n", 10_001),
		"n0/gcs_server.out":                 "start --redis-password=hunter2 now",
		"n0/dashboard.log":                  "first\n" + strings.Repeat("x", archive.NodeLog-2) + "\n",
		"n2/worker-ab-02000000-7.err":       "Traceback",
		"n2/worker-ab-03000000-8.err":       "of another job",
		"n2/worker-ac-ffffffff-9.err":       ":job_id:02000000\nit got the job later",
		"n2/worker-ad-ffffffff-10.err":      ":job_id:03000000\nof another job",
		"n2/runtime_env_setup-01000000.log": "no such package",
	})
	o := s.keep(t, about)
	for _, want := range []string{
		"the log raylet.err of node odd is missing", "the logs of node n1 are missing", "the log dashboard_agent.log of node n2 is missing",
	} {
		if !o.Done || !strings.Contains(o.Lost, want) {
			t.Errorf("outcome %+v, want %q", o, want)
		}
	}
	names, texts := s.nodeLogs(t, about.Key)
	if diff := cmp.Diff([]string{"odd/dashboard.log", "odd/gcs_server.out", "odd/raylet.out", "n2/runtime_env_setup-01000000.log", "n2/worker-ab-02000000-7.err", "n2/worker-ac-ffffffff-9.err"}, names); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{
		"odd/dashboard.log":                 mark + strings.Repeat("x", archive.NodeLog-2) + "\n",
		"odd/gcs_server.out":                "start --redis-password=*** now",
		"odd/raylet.out":                    mark + strings.Repeat("a line\n", 10_000),
		"n2/worker-ab-02000000-7.err":       "Traceback",
		"n2/worker-ac-ffffffff-9.err":       ":job_id:02000000\nit got the job later",
		"n2/runtime_env_setup-01000000.log": "no such package",
	}, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%.2000s", diff)
	}
	if r, err := s.store.Get(t.Context(), about.Key); err != nil || !r.HasLog || r.LogBytes != 5 {
		t.Errorf("record %+v, %v", r, err)
	}
}

// TestNodeLogsOfSuccess keeps no logs of workers, and no more than there is room for.
func TestNodeLogsOfSuccess(t *testing.T) {
	t.Parallel()
	s, about := newStage(t, nil, withNodeLogs), subject(0)
	about.Result = "SUCCEEDED"
	s.ray.Put(dashboard.Job{SubmissionID: about.JobID, JobID: "02", Status: dashboard.Succeeded})
	answers := map[string]string{
		listedNodes:   `{"data":{"result":{"result":[{"node_id":"n1"}]}}}`,
		logsOf + "n1": `{"data":{"result":{"worker_out":["worker-ab-02-7.out"],"a":["raylet.out","raylet.err","monitor.out","monitor.log","monitor.err"]}}}`,
	}
	for _, file := range []string{"worker-ab-02-7.out", "raylet.out", "raylet.err", "monitor.out", "monitor.log", "monitor.err"} {
		answers["n1/"+file] = strings.Repeat(file+"\n", archive.NodeLog/len(file))
	}
	s.ray.SetAnswers(answers)
	o := s.keep(t, about)
	if want := "from raylet.err of node n1 on"; !o.Done || !strings.Contains(o.Lost, want) {
		t.Errorf("outcome %+v, want %q", o, want)
	}
	names, _ := s.nodeLogs(t, about.Key)
	if diff := cmp.Diff([]string{"n1/monitor.err", "n1/monitor.log", "n1/monitor.out"}, names); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}

// TestNodesAway shows that the record has all else if the nodes are unknown.
func TestNodesAway(t *testing.T) {
	t.Parallel()
	s, about := newStage(t, nil, withNodeLogs), subject(0)
	s.ray.SetAnswers(map[string]string{listedNodes: ""})
	if o := s.keep(t, about); !o.Done || !strings.HasPrefix(o.Lost, "the logs of nodes are missing") {
		t.Errorf("outcome %+v", o)
	}
	if r, err := s.store.Get(t.Context(), about.Key); err != nil || !r.HasLog || r.NodeLogs != nil {
		t.Errorf("record %+v, %v", r, err)
	}
}
