package realray

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// observer asks one side and keeps what it answered: for each answer by its name the lines that describe it.
type observer struct {
	t    *testing.T
	at   target
	seen map[string][]string
	// texts are the bodies as received, to investigate a difference.
	texts map[string]string
}

func (o *observer) get(name, path string) {
	o.t.Helper()
	o.ask(name, "GET", path, nil)
}

func (o *observer) ask(name, method, path string, body any, header ...string) {
	o.t.Helper()
	r, err := send(o.t.Context(), method, o.at.dashboard+path, body, header...)
	if err != nil {
		o.t.Fatalf("%s: %s %s: %v", o.at.name, method, path, err)
	}
	o.keep(name, r)
}

func (o *observer) atProxy(name, path string) {
	o.t.Helper()
	r, err := send(o.t.Context(), "GET", o.at.proxy+path, nil)
	if err != nil {
		o.t.Fatalf("%s: %s at the proxy: %v", o.at.name, path, err)
	}
	o.keep(name, r)
}

// awaitProxy waits until the proxy is healthy.
func (o *observer) awaitProxy() {
	o.t.Helper()
	var err error
	for deadline := time.Now().Add(settle); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		var r reply
		if r, err = send(o.t.Context(), "GET", o.at.proxy+"/-/healthz", nil); err == nil && r.code == 200 {
			return
		}
	}
	o.t.Fatalf("%s: the proxy is not healthy after %s: %v", o.at.name, settle, err)
}

// keep describes an answer.
func (o *observer) keep(name string, r reply) {
	o.t.Helper()
	if o.seen[name] != nil {
		o.t.Fatalf("%s is asked twice", name)
	}
	kind, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if err != nil {
		kind = "none"
	}
	lines := []string{fmt.Sprintf("code %d", r.code), "type " + kind}
	var value any
	switch {
	case len(r.body) == 0:
		lines = append(lines, "empty body")
	case kind == "application/json" && json.Unmarshal(r.body, &value) == nil:
		lines = append(lines, shape("", value)...)
	default:
		for _, phrase := range phrases {
			if strings.Contains(string(r.body), phrase) {
				lines = append(lines, "text with "+phrase)
			}
		}
	}
	o.texts[name] = fmt.Sprintf("%.500s", r.body)
	o.seen[name] = lines
}

// phrases are what clients look for in texts.
var phrases = []string{"Please use a different submission_id", "does not exist", "success", "Unauthorized", "Forbidden", "not found"}

// acted are the fields whose values clients act on: these are compared, not only their types.
var acted = []string{
	"authentication_mode", "deleted", "driver_exit_code", "entrypoint", "error_type", "external_scaler_enabled", "import_path", "is_active", "name", "num_replicas",
	"proxy_location", "route_prefix", "source", "state", "status", "status_trigger", "stopped", "target_capacity", "target_num_replicas", "type", "user_config",
}

// keyed are objects whose keys are no fields.
var keyed = []string{".proxies"}

// shape describes JSON by a line per field: its path and its type, or its value.
func shape(path string, value any) []string {
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return []string{path + " is an empty object"}
		}
		var lines []string
		for key, field := range v {
			if slices.Contains(keyed, path) {
				key = "*"
			}
			lines = append(lines, shape(path+"."+key, field)...)
		}
		slices.Sort(lines)
		return slices.Compact(lines)
	case []any:
		lines := []string{path + " is a list"}
		for _, element := range v {
			lines = append(lines, shape(path+"[]", element)...)
		}
		slices.Sort(lines)
		return slices.Compact(lines)
	case nil:
		return []string{path + " is null"}
	}
	switch field := path[strings.LastIndex(path, ".")+1:]; {
	case field == "logs":
		return []string{path + " has " + wordsOf(value)}
	case strings.HasPrefix(path, ".target_groups"): // names of actors, and nothing that clients act on
	case slices.Contains(acted, field):
		text, err := json.Marshal(value)
		if err != nil {
			return []string{path + " is " + err.Error()}
		}
		return []string{path + " is " + string(text)}
	}
	switch value.(type) {
	case string:
		return []string{path + " is text"}
	case bool:
		return []string{path + " is a boolean"}
	}
	return []string{path + " is a number"}
}

// wordsOf returns the lines of a log that the program wrote, in any order. Lines that Ray adds are left out, because they come at any time.
func wordsOf(log any) string {
	text, _ := log.(string)
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "INFO job_manager.py") && !strings.HasPrefix(line, "Running entrypoint for job ") {
			lines = append(lines, line)
		}
	}
	return fmt.Sprintf("%q", lines)
}

// valueAt is the text at a path of fields, empty where there is none.
func valueAt(body []byte, path string) string {
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return ""
	}
	for field := range strings.SplitSeq(path, ".") {
		object, _ := value.(map[string]any)
		value = object[field]
	}
	text, _ := value.(string)
	return text
}

// tail reads the log of a job by WebSocket.
func (o *observer) tail(name, id string) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), time.Minute)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, o.at.dashboard+"/api/jobs/"+id+"/logs/tail", nil)
	if err != nil {
		if resp == nil {
			o.t.Fatalf("%s: tail of %s: %v", o.at.name, id, err)
		}
		o.seen[name] = []string{fmt.Sprintf("code %d", resp.StatusCode)}
		return
	}
	defer ws.CloseNow()
	var text strings.Builder
	for {
		kind, data, err := ws.Read(ctx)
		if err != nil {
			var closed websocket.CloseError
			errors.As(err, &closed)
			o.seen[name] = []string{fmt.Sprintf("closed with %d", closed.Code), wordsOf(text.String())}
			return
		}
		if kind != websocket.MessageText {
			o.t.Errorf("%s: a frame of %s is no text", o.at.name, name)
		}
		text.Write(data)
	}
}
