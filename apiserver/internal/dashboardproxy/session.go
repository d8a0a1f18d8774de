package dashboardproxy

import (
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

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

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
	for _, job := range gjson.ParseBytes(body).Array() {
		if id != "" && (job.Get("submission_id").Str == id || job.Get("job_id").Str == id) {
			return json.RawMessage(job.Raw), nil
		}
	}
	return nil, errNoSuch
}

// actorsIn returns the actors in an answer by their ids. An answer of another form has none.
func actorsIn(body []byte) (actors map[string]json.RawMessage) {
	_ = json.Unmarshal([]byte(gjson.GetBytes(body, "data.actors").Raw), &actors)
	return actors
}

// nodeOf returns a node with its actors. Its processes are not kept.
func (s *Session) nodeOf(body []byte, id string) (any, error) {
	nodes := gjson.GetBytes(body, "data.summary").Array()
	at := slices.IndexFunc(nodes, func(node gjson.Result) bool { return node.Get("raylet.nodeId").Str == id })
	if at < 0 {
		return nil, errNoSuch
	}
	actors := actorsIn(s.Answers[actorsPath].Body)
	maps.DeleteFunc(actors, func(_ string, actor json.RawMessage) bool { return gjson.GetBytes(actor, "address.nodeId").Str != id })
	node := map[string]any{}
	for name, member := range nodes[at].Map() {
		node[name] = json.RawMessage(member.Raw)
	}
	node["actors"], node["workers"] = actors, []any{}
	return detail(node), nil
}

func actorOf(body []byte, id string) (any, error) {
	actor, ok := actorsIn(body)[id]
	if !ok {
		return nil, errNoSuch
	}
	return detail(actor), nil
}

// rowsPath is the path of the rows in a list of Ray's state API.
const rowsPath = "data.result.result"

// filtered returns a list of Ray's state API with the rows that a query asks for.
func filtered(body []byte, query url.Values) (any, error) {
	list := gjson.GetBytes(body, rowsPath)
	if !list.IsArray() {
		return nil, errors.New("json: " + rowsPath + " is no list")
	}
	rows := []json.RawMessage{}
	for _, row := range list.Array() {
		if matches(row, query) {
			rows = append(rows, json.RawMessage(row.Raw))
		}
	}
	count := len(rows)
	if limit, err := strconv.Atoi(query.Get("limit")); err == nil && limit >= 0 {
		rows = rows[:min(limit, len(rows))]
	}
	body, err := sjson.SetBytes(body, rowsPath, rows)
	if err == nil && len(query["filter_keys"]) > 0 {
		body, err = sjson.SetBytes(body, "data.result.num_filtered", count)
	}
	return json.RawMessage(body), err
}

// matches reports whether a row has what the filters of a query compare. A filter that is no comparison of text matches nothing.
func matches(row gjson.Result, query url.Values) bool {
	keys, predicates, values := query["filter_keys"], query["filter_predicates"], query["filter_values"]
	if len(keys) == 0 {
		return true
	}
	if len(predicates) != len(keys) || len(values) != len(keys) || !row.IsObject() {
		return false
	}
	for i, key := range keys {
		equal := strings.EqualFold(strings.Trim(row.Get(gjson.Escape(key)).Raw, `"`), values[i])
		if equal != (predicates[i] == "=") || predicates[i] != "=" && predicates[i] != "!=" {
			return false
		}
	}
	return true
}

// driverLog is the name that Ray gives the log of the driver.
func (s *Session) driverLog() string { return "job-driver-" + s.JobID + ".log" }

// logs lists the logs of a node, and that of the driver on the node that ran it. A job without a node has no log.
func (s *Session) logs(query url.Values) history.Answer {
	job, found := gjson.ParseBytes(s.answer(jobsPath+s.JobID, nil).Body), map[string][]string{}
	if s.HasLog && isNode(query, job.Get("driver_node_id").Str, job.Get("driver_info.node_ip_address").Str) {
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
		return gjson.GetBytes(actorsIn(s.Answers[actorsPath].Body)[id], "address.workerId").Str
	}
	task, attempt := query.Get("task_id"), cmp.Or(query.Get("attempt_number"), "0")
	for _, t := range gjson.GetBytes(s.Answers[tasksPath+rowsQuery].Body, rowsPath).Array() {
		if task != "" && t.Get("task_id").Str == task && strconv.FormatInt(t.Get("attempt_number").Int(), 10) == attempt {
			return t.Get("worker_id").Str
		}
	}
	return ""
}
