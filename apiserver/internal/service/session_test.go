package service_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/pkg/history"
)

// recordSession stores a record with an answer of the dashboard that names the attempt.
func (w *world) recordSession(t *testing.T, uid string, attempt int) {
	t.Helper()
	r := &history.Record{
		Summary: history.Summary{
			Key:   history.Key{Kind: "RayJob", Namespace: "default", Name: "train", UID: uid, Created: time.Unix(1, 0).UTC(), Attempt: attempt},
			Ended: time.Unix(60, 0).UTC(), JobID: "train-1",
		},
		Answers: history.Answers{"timezone": {Body: json.RawMessage(`{"of":"` + uid + `","attempt":` + string(rune('0'+attempt)) + `}`)}, "api/jobs/": {Missing: "it was too large"}},
		Nodes:   nodeLogs(uid),
	}
	if _, err := w.past.Put(t.Context(), r, strings.NewReader("log of "+uid)); err != nil {
		t.Fatal(err)
	}
}

func TestPastDashboard(t *testing.T) {
	w := newWorld(t)
	w.recordSession(t, "u", 1)
	w.recordSession(t, "u", 2)
	const below = "history/RayJob/train/dashboard/"
	for target, want := range map[string]struct {
		method string
		denied string
		code   int
		body   string
	}{
		below + "timezone":                                         {code: 200, body: `{"of":"u","attempt":2}`},
		below + "timezone?attempt=1&uid=u":                         {code: 200, body: `{"of":"u","attempt":1}`},
		below + "timezone?attempt=3":                               {code: 404, body: "it has 1, 2"},
		below + "timezone?attempt=x":                               {code: 400, body: "is not a number"},
		below + "timezone?attempt=-1":                              {code: 400, body: "attempts count from 1"},
		below + "timezone?uid=..":                                  {code: 400, body: "is not a UID"},
		below + "timezone?uid=other":                               {code: 404, body: "no record"},
		below + "api/jobs/":                                        {code: 404, body: "it was too large"},
		below + "events":                                           {code: 404, body: "it does not keep it"},
		below + "api/v0/logs/file?filename=job-driver-train-1.log": {code: 200, body: "log of u"},
		below + "api/v0/logs/file?filename=raylet.out":             {code: 404},
		below + "api/v0/logs/file?filename=raylet.out&node_id=n1":  {code: 200, body: "u: raylet.out\nof n1"},
		below + "api/v0/logs?node_ip=10.0.0.2":                     {code: 200, body: `{"raylet":["raylet.out"]}`},
		"history/RayJob/other/dashboard/timezone":                  {code: 404},
		"history/Pod/train/dashboard/timezone":                     {code: 400, body: "has no history"},
		"history/RayJob/Train/dashboard/timezone":                  {code: 400, body: "the path does not name"},
		below + "timezone?1":                                       {denied: "get rayjobs", code: 403},
		below + "timezone?2":                                       {denied: "get services/proxy", code: 403},
		below + "timezone?attempt=1&uid=u&":                        {denied: "get services/proxy", code: 403},
		below + "timezone?3":                                       {method: "POST", code: 405},
	} {
		w.change(func() { w.denied = map[string]bool{want.denied: true} })
		method := want.method
		if method == "" {
			method = "GET"
		}
		code, h, body, err := w.send(t, method, target, "")
		if err != nil || code != want.code || !strings.Contains(body, want.body) {
			t.Errorf("%s: %d %s, %v; want %d %s", target, code, body, err, want.code, want.body)
		}
		if code == 200 && h.Get("Content-Security-Policy") != "sandbox" {
			t.Errorf("%s: %v", target, h)
		}
	}
}

// TestPastPages opens a past session as a browser does.
func TestPastPages(t *testing.T) {
	w := newWorld(t)
	w.recordSession(t, "u", 1)
	ticket := func() (code int, path, proof string) {
		code, h, body, _ := w.send(t, "POST", "history/RayJob/train/dashboard:ticket?attempt=1", "")
		var answer struct{ Path string }
		_ = json.Unmarshal([]byte(body), &answer) // an error is tested by its code
		for _, c := range (&http.Response{Header: h}).Cookies() {
			proof += c.Value
		}
		return code, answer.Path, proof
	}
	code, path, proof := ticket()
	if code != 200 || proof == "" {
		t.Fatalf("ticket: %d", code)
	}
	w.recordSession(t, "later", 1) // the ticket is for the older one
	get := func(below, proof string) (int, http.Header, string) {
		t.Helper()
		code, h, body, _ := w.send(t, "GET", path+below, "", dashboardproxy.ProofHeader, proof)
		return code, h, body
	}
	if code, h, body := get("", proof); code != 200 || !strings.HasPrefix(body, "<!doctype html><script>") || !strings.HasSuffix(body, "</script><p>") ||
		!strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox allow-scripts") || h.Get("Access-Control-Allow-Origin") != "null" {
		t.Errorf("page: %d %v %s", code, h, body)
	}
	if code, _, body := get("timezone", proof); code != 200 || body != `{"of":"u","attempt":1}` {
		t.Errorf("answer: %d %s", code, body)
	}
	if code, _, body := get("static/a.js", ""); code != 200 || body != "1" {
		t.Errorf("file: %d %s", code, body)
	}
	for below, want := range map[string]int{"": 401, "timezone": 401, "static/": 404, "static/none.js": 404, "static/..%2Findex.html": 404} {
		if code, _, body := get(below, ""); code != want {
			t.Errorf("%q without a proof: %d %s", below, code, body)
		}
	}
	w.change(func() { w.denied["get rayjobs"] = true })
	for _, below := range []string{"", "timezone"} {
		if code, _, _ := get(below, proof); code != 403 {
			t.Errorf("%q without the right: %d", below, code)
		}
	}
	if code, _, _ := ticket(); code != 403 {
		t.Errorf("ticket without the right: %d", code)
	}
	w.change(func() { w.denied = map[string]bool{} })
	w.remember(t, "RayJob", "default", "other", 1, "FAILED")
	if code, _, body, _ := w.send(t, "POST", "history/RayJob/other/dashboard:ticket", ""); code != 400 || !strings.Contains(body, "NO_DASHBOARD") {
		t.Errorf("ticket for a record without a dashboard: %d %s", code, body)
	}
	_ = w.past.Close()
	if code, _, body := get("timezone", proof); code != 200 || body != `{"of":"u","attempt":1}` {
		t.Errorf("the same answer again reads the store: %d %s", code, body)
	}
	w.pages.Past.Files = nil
	if code, _, _ := ticket(); code != 400 {
		t.Errorf("ticket without pages: %d", code)
	}
}
