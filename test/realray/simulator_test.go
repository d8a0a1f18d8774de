package realray

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/test/raysim"
	"github.com/raygate/raygate/test/servesim"
)

// Ray answers as the simulators do. Each endpoint of the simulators gets the same requests on both sides. The test compares the code, the
// media type, the fields with their types, and the values that clients act on. Messages may differ.
func TestCoreSimulators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rc := w.cluster("real", 0, func(rc *rayv1.RayCluster) { rc.Spec.HeadGroupSpec.RayStartParams["num-cpus"] = "1" })
	w.ready(rc)
	ip := w.head("real").Status.PodIP
	ray := target{"Ray", "http://" + ip + ":8265", "http://" + ip + ":8000"}
	simulated := simulators(t, "")
	for _, part := range []struct {
		name    string
		observe func(*observer)
	}{{"jobs", observeJobs}, {"Serve", observeServe}} {
		w.run(part.name, func(w *world) { compare(w.t, part.observe, ray, simulated) })
	}
}

// target is a head, or what simulates one.
type target struct{ name, dashboard, proxy string }

// simulators starts a simulated head.
func simulators(t *testing.T, token string) target {
	t.Helper()
	serve := servesim.New(servesim.Options{Nodes: func() []servesim.Node { return []servesim.Node{{ID: "head", IP: "127.0.0.1", Head: true}} }})
	t.Cleanup(serve.Close)
	c, err := raysim.New(raysim.Options{Dir: t.TempDir(), Serve: serve, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	dashboard, proxy := httptest.NewServer(c), httptest.NewServer(serve.Proxy("head"))
	t.Cleanup(dashboard.Close)
	t.Cleanup(proxy.Close)
	return target{"the simulator", dashboard.URL, proxy.URL}
}

// compare asks both sides. What differs on purpose is in excused.
func compare(t *testing.T, observe func(*observer), ray, simulated target) {
	t.Helper()
	sides, texts := [2]map[string][]string{}, [2]map[string]string{}
	for i, at := range []target{ray, simulated} {
		o := &observer{t: t, at: at, seen: map[string][]string{}, texts: map[string]string{}}
		observe(o)
		sides[i], texts[i] = o.seen, o.texts
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(sides[0])), slices.Sorted(maps.Keys(sides[1]))); diff != "" {
		t.Fatalf("not the same was asked:\n%s", diff)
	}
	for _, name := range slices.Sorted(maps.Keys(sides[0])) {
		differs := false
		for i, who := range []string{"Ray", "the simulator"} {
			for _, line := range difference(set(sides[i][name]), set(sides[1-i][name])) {
				if !isExcused(name, line) {
					t.Errorf("%s: only %s answers %s", name, who, line)
					differs = true
				}
			}
		}
		if differs {
			t.Logf("%s: Ray answers %s\nthe simulator answers %s", name, texts[0][name], texts[1][name])
		}
	}
	t.Logf("%d answers were compared", len(sides[0]))
}

func set(lines []string) map[string]bool {
	out := map[string]bool{}
	for _, l := range lines {
		out[l] = true
	}
	return out
}

func difference(a, b map[string]bool) []string {
	var out []string
	for _, l := range slices.Sorted(maps.Keys(a)) {
		if !b[l] {
			out = append(out, l)
		}
	}
	return out
}

// excuse is a difference that is meant to be: of answers whose names begin with prefix, lines that begin with line.
type excuse struct{ prefix, line, reason string }

var excused = []excuse{
	{"front page", "", "the simulator has no pages"},
	{"", ".controller_health_metrics", "figures about Serve's controller, of which the simulator has none"},
}

func isExcused(name, line string) bool {
	return slices.ContainsFunc(excused, func(e excuse) bool { return strings.HasPrefix(name, e.prefix) && strings.HasPrefix(line, e.line) })
}

// awaitStatus asks until the value at a path is one of these.
func (o *observer) awaitStatus(path, field string, want ...string) {
	o.t.Helper()
	var got string
	for deadline := time.Now().Add(settle); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		r, err := send(o.t.Context(), "GET", o.at.dashboard+path, nil)
		if err != nil {
			got = err.Error()
			continue
		}
		if got = valueAt(r.body, field); r.code == 200 && slices.Contains(want, got) {
			return
		}
	}
	o.t.Fatalf("%s: %s of %s is %q, not one of %q, after %s", o.at.name, field, path, got, want, settle)
}

// awaitLog waits until a job has written something, which it may do long after its status says that it runs.
func (o *observer) awaitLog(id, want string) {
	o.t.Helper()
	for deadline := time.Now().Add(settle); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if r, err := send(o.t.Context(), "GET", o.at.dashboard+"/api/jobs/"+id+"/logs", nil); err == nil && r.code == 200 && strings.Contains(valueAt(r.body, "logs"), want) {
			return
		}
	}
	o.t.Fatalf("%s: the log of %s has no %q after %s", o.at.name, id, want, settle)
}

func observeJobs(o *observer) {
	submit := func(id, entrypoint string) string {
		return fmt.Sprintf(`{"submission_id":%q,"entrypoint":%q}`, id, entrypoint)
	}
	o.get("version", "/api/version")
	o.get("front page", "/")
	for _, path := range []string{"/api/gcs_healthz", "/api/healthz", "/api/local_raylet_healthz", "/-/healthz", "/api/authentication_mode", "/api/nothing"} {
		o.get("GET "+path, path)
	}
	o.ask("authenticate", "POST", "/api/authenticate", nil, "Authorization: Bearer x")
	o.get("no jobs", "/api/jobs/")
	o.get("collection without its slash", "/api/jobs")
	o.ask("submit without its slash", "POST", "/api/jobs", submit("x", "true"))
	o.ask("wrong method", "PATCH", "/api/jobs/", "{}")
	o.ask("from a browser", "POST", "/api/jobs/", submit("browser", "true"), "User-Agent: Mozilla/5.0")
	o.get("activities without drivers", "/api/component_activities")

	for name, body := range map[string]string{
		"no object": `[]`, "null": `null`, "no JSON": `{`, "empty": `{}`, "unknown key": `{"entrypoint":"true","what":1}`, "entrypoint is a number": `{"entrypoint":1}`,
		"metadata is a list": `{"entrypoint":"true","metadata":[]}`, "metadata has numbers": `{"entrypoint":"true","metadata":{"a":1}}`,
		"runtime_env is text": `{"entrypoint":"true","runtime_env":"x"}`, "env_vars has numbers": `{"entrypoint":"true","runtime_env":{"env_vars":{"A":1}}}`,
		"CPUs are text": `{"entrypoint":"true","entrypoint_num_cpus":"1"}`, "memory is a fraction": `{"entrypoint":"true","entrypoint_memory":1.5}`,
		"resources are text": `{"entrypoint":"true","entrypoint_resources":{"a":"1"}}`,
	} {
		o.ask("submit: "+name, "POST", "/api/jobs/", body)
	}
	for name, call := range map[string][2]string{
		"get": {"GET", ""}, "stop": {"POST", "/stop"}, "delete": {"DELETE", ""}, "logs": {"GET", "/logs"},
	} {
		o.ask("unknown job: "+name, call[0], "/api/jobs/none"+call[1], nil)
	}
	o.tail("unknown job: tail", "none")

	o.ask("submit", "POST", "/api/jobs/", `{"submission_id":"good","entrypoint":"echo hello; echo $GREETING","metadata":{"owner":"me"},"runtime_env":{"env_vars":{"GREETING":"you"}}}`)
	o.awaitStatus("/api/jobs/good", "status", "SUCCEEDED", "FAILED")
	o.get("succeeded", "/api/jobs/good")
	o.get("succeeded: logs", "/api/jobs/good/logs")
	o.tail("succeeded: tail", "good")
	o.ask("succeeded: stop", "POST", "/api/jobs/good/stop", nil)
	o.ask("duplicate", "POST", "/api/jobs/", submit("good", "true"))
	o.get("a job", "/api/jobs/")

	o.ask("submit what fails", "POST", "/api/jobs/", submit("bad", "echo words; exit 3"))
	o.awaitStatus("/api/jobs/bad", "status", "SUCCEEDED", "FAILED")
	o.get("failed", "/api/jobs/bad")

	o.ask("submit with an environment that cannot be", "POST", "/api/jobs/", `{"submission_id":"env","entrypoint":"true","runtime_env":{"working_dir":"gcs://_ray_pkg_0123456789abcdef.zip"}}`)
	o.awaitStatus("/api/jobs/env", "status", "SUCCEEDED", "FAILED")
	o.get("failed by its environment", "/api/jobs/env")

	o.ask("submit what runs long", "POST", "/api/jobs/", submit("long", "echo running; sleep 600"))
	o.awaitStatus("/api/jobs/long", "status", "RUNNING")
	o.awaitLog("long", "running\n")
	o.get("running", "/api/jobs/long")
	o.ask("running: delete", "DELETE", "/api/jobs/long", nil)
	o.ask("running: stop", "POST", "/api/jobs/long/stop", nil)
	o.awaitStatus("/api/jobs/long", "status", "STOPPED", "FAILED")
	o.get("stopped", "/api/jobs/long")
	o.tail("stopped: tail", "long")
	o.ask("stopped: delete", "DELETE", "/api/jobs/long", nil)
	o.get("deleted", "/api/jobs/long")

	const pkg = "/api/packages/gcs/_ray_pkg_00112233445566aa.zip"
	o.get("package that is not there", pkg)
	o.ask("package", "PUT", pkg, emptyZip)
	o.get("package that is there", pkg)
	o.get("package of another protocol", "/api/packages/what/x.zip")
}

// emptyZip is an archive without files.
const emptyZip = "PK\x05\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

func observeServe(o *observer) {
	const path = servesim.Path
	app := func(more string) string {
		return `{"name":"hello","import_path":"hello_serve:app","route_prefix":"/hello",` + more + `"deployments":[{"name":"Hello","user_config":{"words":"hi"}}]}`
	}
	o.get("not started", path)
	o.get("not started: declarative", path+"?api_type=declarative")
	o.get("not started: wrong source", path+"?api_type=what")
	o.get("without its slash", strings.TrimSuffix(path, "/"))
	o.get("other path below", "/api/serve/what")
	o.ask("from a browser", "PUT", path, `{"applications":[]}`, "User-Agent: Mozilla/5.0")
	for name, body := range map[string]string{
		"no JSON": `{`, "empty": `{}`, "list": `[]`, "capacity over 100": `{"applications":[],"target_capacity":101}`,
		"two of a name":    `{"applications":[{"name":"a","import_path":"a:b"},{"name":"a","import_path":"a:c","route_prefix":"/c"}]}`,
		"two of a route":   `{"applications":[{"name":"a","import_path":"a:b"},{"name":"b","import_path":"a:c"}]}`,
		"no import path":   `{"applications":[{"name":"a"}]}`,
		"bad import path":  `{"applications":[{"name":"a","import_path":"nothing"}]}`,
		"port in an app":   `{"applications":[{"name":"a","import_path":"a:b","port":8001}]}`,
		"no replicas":      `{"applications":[{"name":"a","import_path":"a:b","deployments":[{"name":"d","num_replicas":0}]}]}`,
		"nameless":         `{"applications":[{"name":"a","import_path":"a:b","deployments":[{}]}]}`,
		"local folder":     `{"applications":[{"name":"a","import_path":"a:b","runtime_env":{"working_dir":"/tmp"}}]}`,
		"unknown location": `{"applications":[],"proxy_location":"Nowhere"}`,
	} {
		o.ask("refused: "+name, "PUT", path, body)
	}
	o.get("still not started", path)

	o.ask("deploy", "PUT", path, `{"applications":[`+app("")+`]}`)
	o.awaitStatus(path, "applications.hello.status", "RUNNING", "DEPLOY_FAILED")
	o.awaitStatus(path, "applications.hello.deployments.Hello.status", "HEALTHY")
	o.awaitProxy()
	o.get("running", path)
	o.get("running: declarative", path+"?api_type=declarative")
	o.get("running: imperative", path+"?api_type=IMPERATIVE")
	o.atProxy("proxy: health", "/-/healthz")
	o.atProxy("proxy: routes", "/-/routes")
	o.atProxy("proxy: no such route", "/what")

	o.ask("the same again", "PUT", path, `{"target_capacity":50,"applications":[`+app("")+`]}`)
	o.awaitStatus(path, "applications.hello.status", "RUNNING")
	o.get("at half capacity", path)

	o.ask("deploy what cannot be imported", "PUT", path, `{"applications":[{"name":"bad","import_path":"no_such_module:app","runtime_env":{"env_vars":{"RAYGATE_SIM_SERVE_FAIL":"build"}}}]}`)
	o.awaitStatus(path, "applications.bad.status", "DEPLOY_FAILED")
	o.awaitStatus(path, "applications.hello.status", "")
	o.get("failed, and the other deleted", path)

	o.ask("deploy at what is no route", "PUT", path, `{"applications":[{"name":"odd","import_path":"hello_serve:app","route_prefix":"x"}]}`)
	o.awaitStatus(path, "applications.odd.status", "DEPLOY_FAILED", "RUNNING")
	o.awaitStatus(path, "applications.bad.status", "")
	o.get("at what is no route", path)

	o.ask("no applications", "PUT", path, `{"applications":[]}`)
	o.awaitStatus(path, "applications.odd.status", "")
	o.get("empty", path)
	o.ask("shut down", "DELETE", path, nil)
	o.awaitStatus(path, "controller_info.actor_name", "")
	o.get("after the shutdown", path)
}
