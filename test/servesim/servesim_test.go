package servesim

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// world is a Serve whose clock the test moves.
type world struct {
	*Serve
	t     *testing.T
	now   time.Time
	nodes []Node
}

func newWorld(t *testing.T, nodes ...string) *world {
	w := &world{t: t, now: time.Unix(1_700_000_000, 0)}
	for _, id := range nodes {
		w.nodes = append(w.nodes, Node{ID: id, IP: "10.244.0." + id[1:], Head: strings.HasPrefix(id, "h")})
	}
	w.Serve = New(Options{Nodes: func() []Node { return w.nodes }, Now: func() time.Time { return w.now }})
	t.Cleanup(w.Close)
	return w
}

func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }

func (w *world) call(h http.Handler, method, target, body string) (int, string) {
	w.t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(w.t.Context(), method, target, strings.NewReader(body)))
	data, err := io.ReadAll(rec.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return rec.Code, string(data)
}

func (w *world) put(body string) {
	w.t.Helper()
	if code, text := w.call(w, "PUT", Path, body); code != 200 || text != "" {
		w.t.Fatalf("PUT: %d %s", code, text)
	}
}

// settle lets a config be carried out.
func (w *world) settle() {
	w.t.Helper()
	for range 10 {
		w.pass(300 * time.Millisecond)
		w.show()
	}
}

type shown struct {
	Capacity *float64 `json:"target_capacity"`
	Proxies  map[string]struct{ Status string }
	Apps     map[string]struct {
		Status, Message string
		Route           *string `json:"route_prefix"`
		Deployments     map[string]struct {
			Status, Message string
			Trigger         string `json:"status_trigger"`
			Target          int    `json:"target_num_replicas"`
			Replicas        []struct{ State string }
		}
	} `json:"applications"`
}

func (w *world) show() shown {
	w.t.Helper()
	code, text := w.call(w, "GET", Path+"?api_type=declarative", "")
	var s shown
	if err := json.Unmarshal([]byte(text), &s); code != 200 || err != nil {
		w.t.Fatalf("GET: %d %v %s", code, err, text)
	}
	return s
}

// states are the status of the application and of its deployments.
func (w *world) states(app string) string {
	w.t.Helper()
	a, ok := w.show().Apps[app]
	if !ok {
		return "absent"
	}
	out := a.Status
	for _, name := range []string{"A", "B"} {
		if d, ok := a.Deployments[name]; ok {
			out += " " + name + "=" + d.Status + "/" + d.Trigger
		}
	}
	return out
}

func (w *world) want(app, states string) {
	w.t.Helper()
	if got := w.states(app); got != states {
		w.t.Errorf("want %s %s, got %s", app, states, got)
	}
}

func (w *world) health(node string) string {
	w.t.Helper()
	if !w.Listening(node) {
		return "refused"
	}
	code, text := w.call(w.Proxy(node), "GET", "/-/healthz", "")
	if (code == 200) != w.Healthy(node) {
		w.t.Errorf("%s: healthy is %t, the answer %d", node, w.Healthy(node), code)
	}
	return text
}

const one = `{"applications":[{"name":"a","route_prefix":"/a","import_path":"m:app","deployments":[{"name":"A","num_replicas":2}]}]}`

func TestLifeOfAnApplication(t *testing.T) {
	w := newWorld(t, "h1", "w2", "w3", "w4")
	w.put(one)
	w.want("a", "DEPLOYING")
	for _, node := range []string{"w2", "w3", "w4"} {
		if got := w.health(node); got != "refused" {
			t.Errorf("%s: %s", node, got)
		}
	}
	if got := w.health("h1"); got != "Route table is not populated yet." {
		t.Error(got)
	}
	w.pass(time.Second) // built
	w.want("a", "DEPLOYING A=UPDATING/CONFIG_UPDATE_STARTED")
	if got := w.health("h1") + ", " + w.health("w2") + ", " + w.health("w4"); got != "success, No replicas are available yet., refused" {
		t.Error(got)
	}
	if code, _ := w.call(w.Proxy("h1"), "GET", "/a", ""); code != 503 {
		t.Errorf("without a replica: %d", code)
	}
	w.pass(500 * time.Millisecond)
	w.want("a", "RUNNING A=HEALTHY/CONFIG_UPDATE_COMPLETED")
	if got := w.health("w2") + ", " + w.health("w3"); got != "success, success" {
		t.Error(got)
	}
	// The same again.
	w.put(one)
	w.want("a", "DEPLOYING A=HEALTHY/CONFIG_UPDATE_COMPLETED")
	w.pass(loop)
	w.want("a", "RUNNING A=HEALTHY/CONFIG_UPDATE_COMPLETED")
	// Scaling needs no build.
	w.put(strings.Replace(one, `"num_replicas":2`, `"num_replicas":3`, 1))
	w.pass(loop)
	w.want("a", "DEPLOYING A=UPSCALING/CONFIG_UPDATE_STARTED")
	w.pass(time.Second)
	w.want("a", "RUNNING A=HEALTHY/UPSCALE_COMPLETED")
	w.put(one)
	w.pass(loop)
	w.want("a", "DEPLOYING A=DOWNSCALING/CONFIG_UPDATE_STARTED")
	w.pass(time.Second)
	w.want("a", "RUNNING A=HEALTHY/DOWNSCALE_COMPLETED")
	if got := w.health("w4"); got != "This node is being drained." {
		t.Error(got)
	}
	w.pass(31 * time.Second)
	if got := w.health("w4"); got != "refused" {
		t.Error(got)
	}
	// A node is lost.
	w.nodes = w.nodes[:2]
	w.want("a", "UNHEALTHY A=UNHEALTHY/HEALTH_CHECK_FAILED")
	w.pass(time.Second)
	w.want("a", "RUNNING A=HEALTHY/CONFIG_UPDATE_COMPLETED")
	// A node is about to go: what runs there answers until it has.
	w.nodes = append(w.nodes, Node{ID: "w5"})
	w.nodes[1].Leaving = true
	w.want("a", "UNHEALTHY A=UNHEALTHY/HEALTH_CHECK_FAILED")
	if code, _ := w.call(w.Proxy("w2"), "GET", "/a", ""); code != 200 || w.Healthy("w2") {
		t.Errorf("a proxy that drains answers %d", code)
	}
	w.settle()
	w.want("a", "RUNNING A=HEALTHY/CONFIG_UPDATE_COMPLETED")
	w.nodes = slices.Delete(w.nodes, 1, 2)
	w.want("a", "RUNNING A=HEALTHY/CONFIG_UPDATE_COMPLETED")
	// No application any more.
	w.put(`{"applications":[]}`)
	w.want("a", "DELETING A=DOWNSCALING/CONFIG_UPDATE_STARTED")
	w.pass(time.Second)
	w.want("a", "absent")
	if n := len(w.Puts()); n != 5 {
		t.Errorf("want 5 configs accepted, got %d", n)
	}
}

// TestNewCode: until the replicas of new code run, those of the old one answer.
func TestNewCode(t *testing.T) {
	w := newWorld(t, "h1", "w2")
	w.put(one)
	w.settle()
	w.want("a", "RUNNING A=HEALTHY/CONFIG_UPDATE_COMPLETED")
	w.put(strings.Replace(one, "m:app", "n:app", 1))
	states := map[string]bool{}
	for range 60 {
		code, text := w.call(w.Proxy("w2"), "GET", "/a/x?y=1", "")
		if code != 200 || !strings.Contains(text, `"query":"y=1"`) {
			t.Fatalf("in state %s: %d %s", w.states("a"), code, text)
		}
		states[w.states("a")] = true
		w.pass(50 * time.Millisecond)
	}
	want := map[string]bool{"DEPLOYING": true, "DEPLOYING A=UPDATING/CONFIG_UPDATE_STARTED": true, "RUNNING A=HEALTHY/CONFIG_UPDATE_COMPLETED": true}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Error(diff)
	}
}

func TestTargetCapacity(t *testing.T) {
	w := newWorld(t, "h1", "w2")
	config := func(n, capacity string) string {
		return `{"target_capacity":` + capacity + `,"applications":[{"name":"a","import_path":"m.app","deployments":[{"name":"A","num_replicas":` + n + `}]}]}`
	}
	w.put(config("4", "0"))
	w.pass(2 * time.Second)
	w.want("a", "RUNNING A=HEALTHY/CONFIG_UPDATE_COMPLETED")
	if got := w.health("h1") + ", " + w.health("w2"); got != "success, refused" {
		t.Error(got)
	}
	for _, tc := range []struct {
		n, capacity string
		target      int
	}{{"4", "50", 2}, {"4", "1", 1}, {"5", "50", 3}, {"5", "null", 5}, {"5", "100", 5}, {"5", "0", 0}} {
		w.put(config(tc.n, tc.capacity))
		got := w.show().Apps["a"].Deployments["A"]
		if got.Target != tc.target {
			t.Errorf("%s of %s: want target %d, got %d", tc.capacity, tc.n, tc.target, got.Target)
		}
		w.settle()
		if got := w.show().Apps["a"].Deployments["A"]; got.Status != deploymentHealthy || len(got.Replicas) != tc.target {
			t.Errorf("%s of %s: got %s with %d replicas", tc.capacity, tc.n, got.Status, len(got.Replicas))
		}
	}
}

func TestFailures(t *testing.T) {
	for fail, want := range map[string]string{
		failBuild: "DEPLOY_FAILED", failReplica: "DEPLOY_FAILED A=DEPLOY_FAILED/REPLICA_STARTUP_FAILED", failHealth: "UNHEALTHY A=UNHEALTHY/HEALTH_CHECK_FAILED",
	} {
		w := newWorld(t, "h1")
		w.put(`{"applications":[{"name":"a","import_path":"m.app","runtime_env":{"env_vars":{"RAYGATE_SIM_SERVE_FAIL":"` + fail + `"}},"deployments":[{"name":"A"}]}]}`)
		w.settle()
		w.want("a", want)
		if w.show().Apps["a"].Message == "" {
			t.Errorf("%s: no message", fail)
		}
		w.put(`{"applications":[{"name":"a","import_path":"m.app","deployments":[{"name":"A"}]}]}`)
		w.settle()
		if got := w.show().Apps["a"].Status; got != appRunning {
			t.Errorf("%s: mended, it is %s", fail, got)
		}
	}
}

// TestRefused has what TestCoreSimulators of test/realray does not ask.
func TestRefused(t *testing.T) {
	app := func(fields string) string { return `{"applications":[{"import_path":"m:a",` + fields + `}]}` }
	for name, tc := range map[string]struct {
		body string
		code int
	}{
		"two colons":           {`{"applications":[{"import_path":"a:b:c"}]}`, 400},
		"no attribute":         {`{"applications":[{"import_path":"a."}]}`, 400},
		"route of wrong type":  {app(`"route_prefix":3`), 400},
		"empty name":           {app(`"name":""`), 400},
		"replicas twice":       {app(`"deployments":[{"name":"A","num_replicas":1,"autoscaling_config":{}}]`), 400},
		"queue":                {app(`"deployments":[{"name":"A","max_queued_requests":0}]`), 400},
		"null deployment":      {app(`"deployments":[null]`), 400},
		"null application":     {`{"applications":[null]}`, 400},
		"no application":       {`{"applications":[]}`, 200},
		"unknown key":          {`{"applications":[],"x":1}`, 200},
		"not exposed":          {app(`"route_prefix":null`), 200},
		"automatic":            {app(`"deployments":[{"name":"A","num_replicas":"auto"}]`), 200},
		"deployments are null": {app(`"deployments":null`), 200},
	} {
		w := newWorld(t, "h1")
		code, text := w.call(w, "PUT", Path, tc.body)
		if code != tc.code {
			t.Errorf("%s: want %d, got %d %s", name, tc.code, code, text)
		}
		if accepted := len(w.Puts()) == 1; accepted != (code == 200) {
			t.Errorf("%s: accepted %t with %d", name, accepted, code)
		}
		w.show()
	}
}

func TestRoutes(t *testing.T) {
	w := newWorld(t, "h1")
	w.put(`{"http_options":{"root_path":"/root"},"applications":[{"name":"all","import_path":"m:a"},{"name":"b","route_prefix":"/b","import_path":"m:b"},{"name":"c","route_prefix":null,"import_path":"m:c"}]}`)
	w.settle()
	if _, text := w.call(w.Proxy("h1"), "GET", "/root/-/routes", ""); text != `{"/":"all","/b":"b"}`+"\n" {
		t.Error(text)
	}
	for path, app := range map[string]string{"/root/": "all", "/root/b": "b", "/root/b/c": "b", "/root/bc": "all"} {
		_, text := w.call(w.Proxy("h1"), "POST", path, "hello")
		if !strings.Contains(text, `"application":"`+app+`"`) || !strings.Contains(text, `"body":"hello"`) {
			t.Errorf("%s: want %s, got %s", path, app, text)
		}
	}
	w.put(`{"applications":[{"name":"b","route_prefix":"/b","import_path":"m:b"}]}`)
	if code, text := w.call(w.Proxy("h1"), "GET", "/x", ""); code != 404 || !strings.Contains(text, "/-/routes") {
		t.Errorf("%d %s", code, text)
	}
}

// TestChanged: who waits for the health of a proxy learns of its change, which nobody asked for.
func TestChanged(t *testing.T) {
	changed := make(chan struct{}, 100)
	s := New(Options{
		Nodes: func() []Node { return []Node{{ID: "h1", Head: true}, {ID: "w2"}} },
		Build: 10 * time.Millisecond, Start: 10 * time.Millisecond, Changed: func() { changed <- struct{}{} },
	})
	defer s.Close()
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "PUT", Path, strings.NewReader(one)))
	limit := time.After(time.Minute)
	for !s.Healthy("w2") {
		select {
		case <-changed:
		case <-limit:
			t.Fatal("the proxy of the worker is not healthy")
		}
	}
	s.Shutdown()
	if s.Healthy("h1") || s.Listening("w2") {
		t.Error("proxies run after the shutdown")
	}
}

func FuzzPut(f *testing.F) {
	f.Add([]byte(one))
	f.Add([]byte(`{"target_capacity":0.5,"applications":[{"import_path":"a.b","deployments":[{"name":"x","autoscaling_config":{"min_replicas":-1}}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		now := time.Unix(0, 0)
		s := New(Options{Nodes: func() []Node { return []Node{{ID: "h", Head: true}} }, Now: func() time.Time { return now }})
		defer s.Close()
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "PUT", Path, strings.NewReader(string(body))))
		for range 3 {
			now = now.Add(time.Second)
			get := httptest.NewRecorder()
			s.ServeHTTP(get, httptest.NewRequestWithContext(t.Context(), "GET", Path, nil))
			if !json.Valid(get.Body.Bytes()) {
				t.Fatalf("no JSON: %s", get.Body)
			}
		}
	})
}
