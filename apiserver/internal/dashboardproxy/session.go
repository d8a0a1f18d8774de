package dashboardproxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/raygate/raygate/pkg/history"
)

// Session contains the stored answers of the dashboard of a past session. Paths and forms are those of Ray's own API.
type Session struct {
	history.Summary
	// Answers are those that were kept. Others are derived from them.
	Answers history.Answers
	// Log reads the log of the driver from an offset on. The caller must close it.
	Log func(ctx context.Context, offset int64) (io.ReadCloser, error)
	// NodeLogs are the logs of nodes that were kept, and NodeLog reads one of them. The caller must close it.
	NodeLogs []history.NodeLog
	NodeLog  func(ctx context.Context, l history.NodeLog) (io.ReadCloser, error)
}

const (
	// Paths of Ray's API from which answers are derived.
	jobsPath, nodesPath, actorsPath, tasksPath, logsPath = "api/jobs/", "nodes", "logical/actors", "api/v0/tasks", "api/v0/logs"
	// rowsQuery is the query of lists in the history, which have all rows of the session.
	rowsQuery = "?detail=1"
)

// answer returns the answer to a GET of a path, without its first slash. Without a body, Missing says why; it is empty if the history never
// keeps the answer.
func (s *Session) answer(path string, query url.Values) history.Answer {
	if found, ok := s.kept(path, query); ok {
		return found
	}
	folder, id := path[:strings.LastIndexByte(path, '/')+1], path[strings.LastIndexByte(path, '/')+1:]
	list, isList := s.Answers[path+rowsQuery]
	switch {
	case path == logsPath:
		return s.logs(query)
	case isList:
		return derived(list, func(body []byte) (any, error) { return filtered(body, query) })
	case folder == jobsPath:
		return derived(s.Answers[jobsPath], func(body []byte) (any, error) { return jobOf(body, id) })
	case folder == nodesPath+"/":
		return derived(s.Answers[nodesPath+"?view=summary"], func(body []byte) (any, error) { return s.nodeOf(body, id) })
	case folder == actorsPath+"/":
		return derived(s.Answers[actorsPath], func(body []byte) (any, error) { return actorOf(body, id) })
	}
	return history.Answer{}
}

// kept returns the answer to a target with this path and query, in any order.
func (s *Session) kept(path string, query url.Values) (history.Answer, bool) {
	want := query.Encode()
	for target, answer := range s.Answers {
		keptPath, text, _ := strings.Cut(target, "?")
		if keptPath != path {
			continue
		}
		if keptQuery, err := url.ParseQuery(text); err == nil && keptQuery.Encode() == want {
			return answer, true
		}
	}
	return history.Answer{}, false
}

var errNoSuch = errors.New("the session has none of this id")

// derived makes an answer from another one.
func derived(from history.Answer, derive func(body []byte) (any, error)) history.Answer {
	if from.Body == nil {
		return from
	}
	found, err := derive(from.Body)
	if err == nil {
		from.Body, err = json.Marshal(found)
	}
	if err != nil {
		return history.Answer{Missing: err.Error()}
	}
	return from
}

// detail is the form of an answer about one thing. Ray's pages wait for a message.
func detail(found any) any {
	return map[string]any{"result": true, "msg": "from the history", "data": map[string]any{"detail": found}}
}

func jobOf(body []byte, id string) (any, error) {
	var jobs []json.RawMessage
	if err := json.Unmarshal(body, &jobs); err != nil {
		return nil, err
	}
	for _, job := range jobs {
		var ids struct {
			Submission string `json:"submission_id"`
			Driver     string `json:"job_id"`
		}
		if json.Unmarshal(job, &ids) == nil && id != "" && (ids.Submission == id || ids.Driver == id) {
			return job, nil
		}
	}
	return nil, errNoSuch
}

// nodesIn returns the nodes in an answer by their ids.
func nodesIn(body []byte) map[string]map[string]json.RawMessage {
	var answer struct {
		Data struct {
			Summary []map[string]json.RawMessage `json:"summary"`
		} `json:"data"`
	}
	_ = json.Unmarshal(body, &answer) // an answer of another form has none
	nodes := map[string]map[string]json.RawMessage{}
	for _, node := range answer.Data.Summary {
		var raylet struct {
			ID string `json:"nodeId"`
		}
		if json.Unmarshal(node["raylet"], &raylet) == nil {
			nodes[raylet.ID] = node
		}
	}
	return nodes
}

// actorsIn returns the actors in an answer by their ids.
func actorsIn(body []byte) map[string]json.RawMessage {
	var answer struct {
		Data struct {
			Actors map[string]json.RawMessage `json:"actors"`
		} `json:"data"`
	}
	_ = json.Unmarshal(body, &answer)
	return answer.Data.Actors
}

// nodeOf returns a node with its actors. Its processes are not kept.
func (s *Session) nodeOf(body []byte, id string) (any, error) {
	node, ok := nodesIn(body)[id]
	if !ok {
		return nil, errNoSuch
	}
	actors := actorsIn(s.Answers[actorsPath].Body)
	maps.DeleteFunc(actors, func(_ string, actor json.RawMessage) bool {
		var at struct {
			Address struct {
				Node string `json:"nodeId"`
			} `json:"address"`
		}
		return json.Unmarshal(actor, &at) != nil || at.Address.Node != id
	})
	text, err := json.Marshal(actors)
	node["actors"], node["workers"] = text, json.RawMessage("[]")
	return detail(node), err
}

func actorOf(body []byte, id string) (any, error) {
	actor, ok := actorsIn(body)[id]
	if !ok {
		return nil, errNoSuch
	}
	return detail(actor), nil
}

// filtered returns a list of Ray's state API with the rows that a query asks for.
func filtered(body []byte, query url.Values) (any, error) {
	var answer map[string]json.RawMessage
	var data, list map[string]json.RawMessage
	var rows []json.RawMessage
	err := json.Unmarshal(body, &answer)
	for _, step := range []struct {
		in   *map[string]json.RawMessage
		key  string
		into any
	}{{&answer, "data", &data}, {&data, "result", &list}, {&list, "result", &rows}} {
		if err == nil {
			err = json.Unmarshal((*step.in)[step.key], step.into)
		}
	}
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(row json.RawMessage) bool { return !matches(row, query) })
	count := len(rows)
	if limit, err := strconv.Atoi(query.Get("limit")); err == nil && limit >= 0 {
		rows = rows[:min(limit, len(rows))]
	}
	if len(query["filter_keys"]) > 0 {
		list["num_filtered"], _ = json.Marshal(count)
	}
	list["result"], _ = json.Marshal(rows)
	data["result"], _ = json.Marshal(list)
	answer["data"], err = json.Marshal(data)
	return answer, err
}

// matches reports whether a row has what the filters of a query compare. A filter that is no comparison of text matches nothing.
func matches(row json.RawMessage, query url.Values) bool {
	keys, predicates, values := query["filter_keys"], query["filter_predicates"], query["filter_values"]
	if len(keys) == 0 {
		return true
	}
	var fields map[string]json.RawMessage
	if len(predicates) != len(keys) || len(values) != len(keys) || json.Unmarshal(row, &fields) != nil {
		return false
	}
	for i, key := range keys {
		equal := bytes.EqualFold(bytes.Trim(fields[key], `"`), []byte(values[i]))
		if equal != (predicates[i] == "=") || predicates[i] != "=" && predicates[i] != "!=" {
			return false
		}
	}
	return true
}

// driverLog is the name that Ray gives the log of the driver.
func (s *Session) driverLog() string { return "job-driver-" + s.JobID + ".log" }

// logs lists the logs of a node, and that of the driver on the node that ran it.
func (s *Session) logs(query url.Values) history.Answer {
	var job struct {
		Node string `json:"driver_node_id"`
		Info struct {
			IP string `json:"node_ip_address"`
		} `json:"driver_info"`
	}
	_ = json.Unmarshal(s.answer(jobsPath+s.JobID, nil).Body, &job) // a job without a node has no log
	found := map[string][]string{}
	if s.HasLog && isNode(query, job.Node, job.Info.IP) {
		found["driver"] = []string{s.driverLog()}
	}
	for _, l := range s.NodeLogs {
		if isNode(query, l.Node, l.IP) {
			found[l.Component] = append(found[l.Component], l.File)
		}
	}
	text, err := json.Marshal(map[string]any{"result": true, "msg": "", "data": map[string]any{"result": found}})
	if err != nil {
		return history.Answer{Missing: err.Error()}
	}
	return history.Answer{Body: text}
}

// isNode reports whether a query names a node.
func isNode(query url.Values, id, ip string) bool {
	wantID, wantIP := query.Get("node_id"), query.Get("node_ip")
	return wantID != "" && wantID == id || wantIP != "" && wantIP == ip
}

// nodeLog returns the log of a node that a query names by its file, or by a task or an actor: that of its worker, with all that ran there.
func (s *Session) nodeLog(query url.Values) (history.NodeLog, bool) {
	worker, suffix := s.worker(query), "."+cmp.Or(query.Get("suffix"), "out")
	for _, l := range s.NodeLogs {
		wrote := worker != "" && strings.HasPrefix(l.File, "worker-"+worker+"-") && strings.HasSuffix(l.File, suffix)
		if wrote || l.File == query.Get("filename") && isNode(query, l.Node, l.IP) {
			return l, true
		}
	}
	return history.NodeLog{}, false
}

// worker returns the id of the worker of a task or an actor that a query names; empty for none.
func (s *Session) worker(query url.Values) string {
	if id := query.Get("actor_id"); id != "" {
		var actor struct {
			Address struct {
				Worker string `json:"workerId"`
			} `json:"address"`
		}
		_ = json.Unmarshal(actorsIn(s.Answers[actorsPath].Body)[id], &actor) // an unknown one has no worker
		return actor.Address.Worker
	}
	var tasks struct {
		Data struct {
			Result struct {
				Result []struct {
					ID      string `json:"task_id"`
					Attempt int    `json:"attempt_number"`
					Worker  string `json:"worker_id"`
				} `json:"result"`
			} `json:"result"`
		} `json:"data"`
	}
	_ = json.Unmarshal(s.Answers[tasksPath+rowsQuery].Body, &tasks)
	for _, t := range tasks.Data.Result.Result {
		if t.ID != "" && t.ID == query.Get("task_id") && strconv.Itoa(t.Attempt) == cmp.Or(query.Get("attempt_number"), "0") {
			return t.Worker
		}
	}
	return ""
}
