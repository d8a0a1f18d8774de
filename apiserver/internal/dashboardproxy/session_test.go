package dashboardproxy

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/raygate/raygate/pkg/history"
)

// TestAnswers derives from a few answers all that Ray's pages request.
func TestAnswers(t *testing.T) {
	list := func(count, rows string) string {
		return `{"data":{"result":{"num_filtered":` + count + `,"result":[` + rows + `],"total":2}},"result":true}`
	}
	const one, two = `{"job_id":"01","state":"FAILED"}`, `{"job_id":"02","state":"FINISHED"}`
	s := &Session{
		Summary:  history.Summary{JobID: "a", HasLog: true},
		NodeLogs: []history.NodeLog{{Node: "n1", File: "raylet.out", Component: "raylet"}, {Node: "n1", File: "raylet.err", Component: "raylet"}},
		Answers: history.Answers{
			"api/jobs/":             {Body: []byte(`[{"submission_id":"a","job_id":"01","driver_node_id":"n1","driver_info":{"node_ip_address":"10.0.0.1"}},{"job_id":"02"}]`)},
			"nodes?view=summary":    {Body: []byte(`{"data":{"summary":[{"raylet":{"nodeId":"n1"}},{"raylet":{"nodeId":"n2"}}]}}`)},
			"logical/actors":        {Body: []byte(`{"data":{"actors":{"x":{"address":{"nodeId":"n1"}},"y":{"address":{"nodeId":"n2"}}}}}`)},
			"api/v0/tasks?detail=1": {Body: []byte(list("2", one+","+two)), Missing: "cut"},
			"api/v0/tasks/summarize?filter_keys=job_id&filter_predicates=%3D&filter_values=01": {Body: []byte(`1`)},
			"api/v0/placement_groups?detail=1":                                                 {Body: []byte(`{"data":7}`)},
			"api/serve/applications/":                                                          {Missing: "501"},
		},
	}
	detail := func(text string) string {
		return `{"data":{"detail":` + text + `},"msg":"from the history","result":true}`
	}
	logs := func(text string) string { return `{"data":{"result":{` + text + `}},"msg":"","result":true}` }
	for target, want := range map[string]struct{ body, missing string }{
		"api/jobs/":                         {body: string(s.Answers["api/jobs/"].Body)},
		"api/jobs/02":                       {body: `{"job_id":"02"}`},
		"api/jobs/a":                        {body: `{"submission_id":"a","job_id":"01","driver_node_id":"n1","driver_info":{"node_ip_address":"10.0.0.1"}}`},
		"api/jobs/b":                        {missing: "none of this id"},
		"api/jobs/a/logs":                   {},
		"nodes?view=summary":                {body: string(s.Answers["nodes?view=summary"].Body)},
		"nodes?view=hostnamelist":           {},
		"nodes/n2":                          {body: detail(`{"actors":{"y":{"address":{"nodeId":"n2"}}},"raylet":{"nodeId":"n2"},"workers":[]}`)},
		"nodes/n3":                          {missing: "none of this id"},
		"logical/actors/x":                  {body: detail(`{"address":{"nodeId":"n1"}}`)},
		"logical/actors/z":                  {missing: "none of this id"},
		"api/v0/tasks?detail=1&limit=10000": {body: list("2", one+","+two), missing: "cut"},
		"api/v0/tasks?detail=1&limit=1":     {body: list("2", one), missing: "cut"},
		"api/v0/tasks?filter_keys=job_id&filter_predicates=%3D&filter_values=02":                                                              {body: list("1", two), missing: "cut"},
		"api/v0/tasks?filter_keys=job_id&filter_predicates=%21%3D&filter_values=02":                                                           {body: list("1", one), missing: "cut"},
		"api/v0/tasks?filter_keys=job_id&filter_keys=state&filter_predicates=%3D&filter_predicates=%3D&filter_values=02&filter_values=failed": {body: list("0", ""), missing: "cut"},
		"api/v0/tasks?filter_keys=job_id":                                                  {body: list("0", ""), missing: "cut"},
		"api/v0/tasks/summarize?filter_values=01&filter_keys=job_id&filter_predicates=%3D": {body: `1`},
		"api/v0/tasks/summarize?filter_values=02&filter_keys=job_id&filter_predicates=%3D": {},
		"api/v0/placement_groups?limit=1":                                                  {missing: "json"},
		"api/serve/applications/":                                                          {missing: "501"},
		"api/v0/logs?node_id=n1":                                                           {body: logs(`"driver":["job-driver-a.log"],"raylet":["raylet.out","raylet.err"]`)},
		"api/v0/logs?node_ip=10.0.0.1":                                                     {body: logs(`"driver":["job-driver-a.log"]`)},
		"api/v0/logs?node_id=n2":                                                           {body: logs("")},
		"api/v0/logs":                                                                      {body: logs("")},
		"":                                                                                 {},
		"api/v0/actors":                                                                    {},
	} {
		path, text, _ := strings.Cut(target, "?")
		query, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		got := s.answer(path, query)
		if string(got.Body) != want.body || !strings.Contains(got.Missing, want.missing) || (got.Missing == "") != (want.missing == "") {
			t.Errorf("%s: %s, %q", target, got.Body, got.Missing)
		}
	}
}

// TestWorkerLogs finds the logs of the workers of tasks and actors.
func TestWorkerLogs(t *testing.T) {
	s := &Session{
		Answers: history.Answers{
			"logical/actors":        {Body: []byte(`{"data":{"actors":{"x":{"address":{"workerId":"ab"}},"y":{"address":{"workerId":""}}}}}`)},
			"api/v0/tasks?detail=1": {Body: []byte(`{"data":{"result":{"result":[{"task_id":"t","attempt_number":0,"worker_id":null},{"task_id":"t","attempt_number":1,"worker_id":"cd"}]}}}`)},
		},
	}
	for _, file := range []string{"worker-ab-02-7.out", "worker-ab-02-7.err", "worker-cd-ffffffff-8.out"} {
		s.NodeLogs = append(s.NodeLogs, history.NodeLog{Node: "n1", File: file})
	}
	for text, want := range map[string]string{
		"actor_id=x": "worker-ab-02-7.out", "actor_id=x&suffix=err": "worker-ab-02-7.err", "actor_id=y": "", "actor_id=z": "",
		"task_id=t&attempt_number=1": "worker-cd-ffffffff-8.out", "task_id=t&attempt_number=1&suffix=err": "", "task_id=t": "", "task_id=": "", "": "",
		"node_id=n1&filename=worker-ab-02-7.err": "worker-ab-02-7.err", "node_id=n2&filename=worker-ab-02-7.err": "",
	} {
		query, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := s.nodeLog(query); got.File != want || ok != (want != "") {
			t.Errorf("%s: %q, %t, want %q", text, got.File, ok, want)
		}
	}
}

// FuzzSession asks for paths of a session whose answers are of any form, as programs of users can make them.
func FuzzSession(f *testing.F) {
	for _, body := range []string{`{"data":{"result":{"result":[{"job_id":"01"}]}}}`, `{"data":{"actors":{"a":null},"summary":[null]}}`, `[null,{"job_id":"01"}]`, `{"data":null}`, `7`} {
		for _, path := range []string{"api/jobs/01", "nodes/n1", "logical/actors/a", "api/v0/tasks", "api/v0/logs", ""} {
			f.Add([]byte(body), path, "filter_keys=job_id&filter_predicates=%3D&filter_values=01&limit=1&node_id=n1&actor_id=a&task_id=b")
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, path, text string) {
		query, err := url.ParseQuery(text)
		if err != nil || !json.Valid(body) {
			return
		}
		s := &Session{Summary: history.Summary{JobID: "01", HasLog: true}, Answers: history.Answers{}, NodeLogs: []history.NodeLog{{File: "worker-a-b-c.out"}}}
		for _, target := range []string{"api/jobs/", "nodes?view=summary", "logical/actors", "api/v0/tasks?detail=1"} {
			s.Answers[target] = history.Answer{Body: body}
		}
		_, _ = s.nodeLog(query)
		if got := s.answer(path, query).Body; got != nil && !json.Valid(got) {
			t.Errorf("%s?%s of %s is no JSON: %s", path, text, body, got)
		}
	})
}
