package realray

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/test/raycli"
)

// historyStore is the store of the operator, in a folder that the local cluster deletes at its end.
func historyStore() string { return "--history-store=file://" + filepath.Join(product.dir, "history") }

// Ray's own pages show the session of a cluster that is gone: its job, the log of the driver, a node, and the log of its raylet.
func TestPastSession(t *testing.T) {
	t.Parallel()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("Ray's pages are NOT tested: %v", err)
	}
	profile, err := os.MkdirTemp("", "raygate-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) }) // a process of Chromium may still write
	gateway := startPastGateway(t)
	w := newWorld(t)
	w.job("demo", rayv1.HTTPMode, hello, func(j *rayv1.RayJob) { j.Spec.ShutdownAfterJobFinishes = true })
	j := w.jobEnds("demo")
	w.clustersGone()
	record := w.record(gateway)
	page := openPast(t, gateway, w.ns)
	for path, want := range map[string]string{
		"jobs":                        j.Status.JobId,
		"jobs/" + j.Status.JobId:      "ray " + rayVersion + " says it's me 49",
		"cluster":                     record.Node,
		"logs/?nodeId=" + record.Node: "raylet.out",
		"logs/viewer?nodeId=" + record.Node + "&fileName=raylet.out": "(raylet)",
	} {
		w.eventually("Ray's page "+path, func(ctx context.Context) error {
			out, err := exec.CommandContext(ctx, chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1500,1300", "--user-data-dir="+profile,
				"--virtual-time-budget=15000", "--timeout=60000", "--dump-dom", page+"#/"+path).Output()
			if text := textOf(string(out)); err != nil || !strings.Contains(text, want) {
				return fmt.Errorf("%q is not in %q: %w", want, text, err)
			}
			return nil
		})
	}
}

// tags are those of a page and what they contain that is no text.
var tags = regexp.MustCompile(`(?s)<style.*?</style>|<script.*?</script>|<[^>]*>`)

// textOf is the text of a page.
func textOf(page string) string { return html.UnescapeString(tags.ReplaceAllString(page, "")) }

// startPastGateway starts a gateway that reads the history and has Ray's pages, and returns its URL.
func startPastGateway(t *testing.T) string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(raycli.Find(t, false), "../lib/python*/site-packages/ray/dashboard/client/build"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("Ray's pages are not in its wheel: %v", err)
	}
	ports, err := programs.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	p := &programs.Program{
		Path: programs.Binary("raygate-apiserver"), Log: filepath.Join(t.TempDir(), "gateway.log"), Ready: "http://" + at(1) + "/readyz",
		Args: []string{
			"--kubeconfig", product.kubeconfig, "--authentication=none", "--grpc-address=" + at(0), "--http-address=" + at(1), "--metrics-address=" + at(2),
			historyStore(), "--dashboard-pages=" + pages[0],
		},
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return "http://" + at(1)
}

// nodeLog is a log of a node in a record.
type nodeLog struct{ Node, Pod, File string }

// record reads the record of the job, which must lack nothing but what a slow machine has no time for, and the log of its head's raylet.
func (w *world) record(gateway string) nodeLog {
	w.t.Helper()
	var got struct {
		Record   struct{ Lost []string }
		NodeLogs []nodeLog
	}
	base := gateway + "/apis/v2/namespaces/" + w.ns
	r, err := send(w.t.Context(), http.MethodGet, base+"/history/RayJob/demo", nil)
	if err == nil {
		err = json.Unmarshal(r.body, &got)
	}
	lost := slices.DeleteFunc(got.Record.Lost, func(part string) bool { return strings.HasSuffix(part, context.DeadlineExceeded.Error()) })
	if err != nil || len(lost) > 0 {
		w.t.Errorf("the record lacks %q: %v", lost, err)
	}
	for _, l := range got.NodeLogs {
		if l.File != "raylet.out" {
			continue
		}
		r, err := send(w.t.Context(), http.MethodGet, base+"/jobs/demo/logs?file=raylet.out&node="+l.Pod, nil)
		if err != nil || r.code != http.StatusOK || !strings.Contains(string(r.body), "(raylet)") {
			w.t.Errorf("raylet.out of %s: HTTP %d %s, %v", l.Pod, r.code, r.body, err)
		}
		return l
	}
	w.t.Fatalf("raylet.out is not in the record: %s", r.body)
	return nodeLog{}
}

// openPast opens the dashboard of the job's past session as the console does, and returns the URL of its page at a server that adds the cookie to
// the request for the page. The scripts of the page bring their own proof.
func openPast(t *testing.T, gateway, ns string) string {
	t.Helper()
	r, err := send(t.Context(), http.MethodPost, gateway+"/apis/v2/namespaces/"+ns+"/history/RayJob/demo/dashboard:ticket", "{}")
	var ticket struct{ Path string }
	if err == nil {
		err = json.Unmarshal(r.body, &ticket)
	}
	to, badURL := url.Parse(gateway)
	if err != nil || badURL != nil || ticket.Path == "" {
		t.Fatalf("HTTP %d %s: %v", r.code, r.body, err)
	}
	cookies := (&http.Response{Header: r.header}).Cookies()
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(to)
		if p.In.URL.Path == ticket.Path {
			for _, c := range cookies {
				p.Out.AddCookie(c)
			}
		}
	}}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return front.URL + ticket.Path
}
