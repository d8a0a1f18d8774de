package dashboardproxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// A ticket is good for one cluster and one caller, for an hour, on every process with the key. Its handle alone opens nothing, and has nothing of the caller.
func TestTickets(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))
	key := []byte(strings.Repeat("k", 32))
	made := func(key []byte) *Tickets { return NewTickets([][]byte{key}, now) }
	one, two := made(key), made(key)
	handle, proof, expires := one.Issue(demo, nil, Holder{Authorization: "Bearer alice"})
	if !expires.Equal(now.Now().Add(time.Hour)) || strings.Contains(handle+proof, "alice") {
		t.Fatalf("%q %q until %v", handle, proof, expires)
	}
	if long, _, _ := one.Issue(demo, nil, Holder{Authorization: "Bearer " + strings.Repeat("x", 6000)}); len(long) != len(handle) {
		t.Error("a handle grows with the token")
	}
	h, err := two.Open(handle)
	if h.Cluster != demo || h.ID == "" || !h.Expires.Equal(expires) || err != nil {
		t.Errorf("%+v %v", h, err)
	}
	if holder, err := two.Prove(h, proof); holder.Authorization != "Bearer alice" || err != nil {
		t.Errorf("%v %v", holder, err)
	}
	changed := func(text string) string {
		if text[0] == 'A' {
			return "B" + text[1:]
		}
		return "A" + text[1:]
	}
	refused := func(name string, tickets *Tickets, handle, proof string) {
		t.Helper()
		var e *rpcstatus.Error
		if found, err := tickets.Open(handle); !errors.As(err, &e) || e.Code != codes.Unauthenticated || found.Cluster != (types.NamespacedName{}) {
			t.Errorf("the handle %s: %v %v", name, found, err)
		}
		if holder, err := tickets.Prove(h, proof); !errors.As(err, &e) || e.Code != codes.Unauthenticated || holder != (Holder{}) {
			t.Errorf("the proof %s: %v %v", name, holder, err)
		}
	}
	refused("changed", two, changed(handle), changed(proof))
	refused("cut", two, handle[:len(handle)-4], proof[:len(proof)-4])
	refused("empty", two, "", "")
	refused("no ticket", two, "../x", "../x")
	refused("long", two, strings.Repeat("A", 1<<20), strings.Repeat("A", 1<<20))
	refused("exchanged", two, proof, handle)
	refused("of another key", made([]byte(strings.Repeat("x", 32))), handle, proof)
	refused("of a key of its own", made(nil), handle, proof)
	again, other, _ := one.Issue(demo, nil, Holder{Authorization: "Bearer alice"})
	if _, refusal := two.Prove(h, other); again == handle || refusal == nil {
		t.Errorf("the proof of another page of the same cluster: %v", refusal)
	}
	now.SetTime(expires.Add(-time.Second))
	if _, err := two.Open(handle); err != nil {
		t.Errorf("a second before it expires: %v", err)
	}
	now.SetTime(expires)
	refused("that has expired", two, handle, proof)
}

// While a key is replaced, handles and proofs of the older key open, and new ones are sealed with the newer key.
func TestTicketsOfAnOlderKey(t *testing.T) {
	older, newer := []byte(strings.Repeat("o", 32)), []byte(strings.Repeat("n", 32))
	made := func(keys ...[]byte) *Tickets { return NewTickets(keys, nil) }
	opens := func(by, tickets *Tickets) bool {
		handle, proof, _ := by.Issue(demo, nil, Holder{Authorization: "Bearer alice"})
		h, err := tickets.Open(handle)
		holder, refusal := tickets.Prove(h, proof)
		return err == nil && refusal == nil && h.Cluster == demo && holder.Authorization == "Bearer alice"
	}
	both := made(newer, older)
	if !opens(made(older), both) {
		t.Error("a ticket of the older key does not open")
	}
	if !opens(both, made(newer)) {
		t.Error("a new ticket is not sealed with the newer key")
	}
	if opens(made(older), made(newer)) {
		t.Error("a ticket of the older key opens after that key was removed")
	}
}

func FuzzTicket(f *testing.F) {
	tickets := NewTickets(nil, nil)
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := tickets.Open(text); err == nil {
			t.Errorf("%q is a handle", text)
		}
		if _, err := tickets.Prove(Handle{}, text); err == nil {
			t.Errorf("%q is a proof", text)
		}
	})
}

// pages serves the pages of the dashboard of w below /dashboards/x, and what more says beside them.
func pages(t *testing.T, w *world, more http.Handler) *httptest.Server {
	t.Helper()
	alice := authn.NewCaller(user.DefaultInfo{Name: "alice"}, "alice")
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/dashboards/x")
		if !ok {
			more.ServeHTTP(rw, r)
			return
		}
		if r.Header.Get("Access-Control-Request-Method") != "" { // as the gateway answers before anything is looked at
			rw.Header().Set("Access-Control-Allow-Origin", "null")
			rw.Header().Set("Access-Control-Allow-Headers", ProofHeader)
			return
		}
		w.mu.Lock()
		w.proofs = append(w.proofs, path+" "+r.Header.Get(ProofHeader))
		w.mu.Unlock()
		page := Page{Handle: Handle{Cluster: demo}, Base: "/dashboards/x/", Path: path, Proof: "PROOF"}
		if w.unproven {
			page.Proof = ""
		}
		if err := (&Pages{Proxy: w.proxy}).ServePage(rw, r.WithContext(authn.WithCaller(r.Context(), alice)), page); err != nil {
			st, _ := rpcstatus.NewTable().Status(err, "")
			http.Error(rw, st.Code().String(), http.StatusTeapot)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestPages(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		storage := string((&Page{Proof: "PROOF", Base: "/dashboards/x/"}).withScript(nil))
		w.front = pages(t, w, http.NotFoundHandler())
		w.dashboard = func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", r.URL.Query().Get("type"))
			rw.Header().Set("Access-Control-Allow-Origin", "*")
			rw.Header().Set("Set-Cookie", "a=b")
			rw.Header().Set("Etag", `"1"`)
			_, _ = io.WriteString(rw, r.URL.Query().Get("text"))
		}
		for text, want := range map[string]string{
			"<!DOCTYPE%20html><p>x": "<!doctype html>" + storage + "<p>x", "<p>": storage + "<p>", "": storage, "<!doctype%20html": storage + "<!doctype html",
		} {
			resp, body := w.do(t, "GET", "/dashboards/x/?type=text/html%3Bcharset=utf-8&text="+text, "", "Accept", "text/html", "Origin", "null", "Referer", "http://gateway/dashboards/TICKET/", "Sec-Fetch-Site", "cross-site",
				"Accept-Encoding", "br", "If-None-Match", `"1"`, "Cookie", "a=b", "Authorization", "Bearer alice")
			h := resp.Header
			if body != want || h.Get("Etag") != "" || h.Get("Set-Cookie") != "" || len(h.Values("Access-Control-Allow-Origin")) != 1 || h.Get("Access-Control-Allow-Origin") != "null" ||
				h.Get("Content-Security-Policy") != pagePolicy || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%q: %q %v", text, body, h)
			}
			seen := w.seen[len(w.seen)-1].Header
			for _, name := range []string{"Origin", "Referer", "Sec-Fetch-Site", "If-None-Match", "Cookie", "Authorization"} {
				if seen.Get(name) != "" || seen.Get("Accept-Encoding") == "br" {
					t.Errorf("the dashboard gets %v", seen)
				}
			}
		}
		resp, body := w.do(t, "GET", "/dashboards/x/a.json?type=application/json&text={}", "", "If-None-Match", `"1"`)
		if body != "{}" || resp.Header.Get("Etag") != `"1"` || resp.Header.Get("Content-Security-Policy") != pagePolicy || w.seen[len(w.seen)-1].Header.Get("If-None-Match") == "" {
			t.Errorf("what is no page: %q %v", body, resp.Header)
		}
	})
}

// Files of Ray's own pages come to browsers that send no proof with them, and nothing else does. The dashboard gets no token of the cluster for them.
func TestFilesOfPages(t *testing.T) {
	both(t, func(t *testing.T, w *world) {
		direct := w.proxy.ServesFiles()
		w.front, w.unproven, w.denied = pages(t, w, http.NotFoundHandler()), true, "get"
		w.dashboard = func(http.ResponseWriter, *http.Request) {}
		for path, file := range map[string]bool{
			"/static/js/main.js": true, "/favicon.ico": true,
			"/": false, "/api/jobs/": false, "/static": false, "/static/../api/jobs/": false, "/static/%2e%2e/api/jobs/": false, "/static/..%2fapi": false, "//static/x": false, "/api/static/x": false,
		} {
			w.seen = nil
			resp, body := w.do(t, "GET", "/dashboards/x"+path, "")
			if passed := resp.StatusCode == http.StatusOK; passed != (file && direct) || passed != (len(w.seen) == 1) {
				t.Errorf("%s: %d %s", path, resp.StatusCode, body)
			}
			if len(w.seen) > 0 && w.seen[0].Header.Get("X-Ray-Authorization") != "" {
				t.Errorf("%s comes with the token of the cluster", path)
			}
		}
	})
}

// Nothing that runs on a page submits jobs, or changes anything else, with the rights of who looks at it.
func TestPagesOnlyRead(t *testing.T) {
	w := newWorld(t, true)
	w.front = pages(t, w, http.NotFoundHandler())
	w.dashboard = func(http.ResponseWriter, *http.Request) {}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		if resp, body := w.do(t, method, "/dashboards/x/api/jobs/", ""); resp.StatusCode != http.StatusTeapot || len(w.seen) > 0 {
			t.Errorf("%s: %d %s", method, resp.StatusCode, body)
		}
	}
	w.denied = "get"
	if resp, body := w.do(t, "GET", "/dashboards/x/", ""); resp.StatusCode != http.StatusTeapot || !strings.Contains(body, "PermissionDenied") || len(w.seen) > 0 {
		t.Errorf("without the right: %d %s", resp.StatusCode, body)
	}
	ctx := authn.WithCaller(t.Context(), authn.NewCaller(user.DefaultInfo{Name: "alice"}, "alice"))
	if _, err := w.proxy.opened(ctx, demo, "get", nil); err == nil {
		t.Error("a ticket for pages without the right to them")
	}
	w.denied = ""
	if _, err := w.proxy.opened(ctx, demo, "get", nil); err != nil {
		t.Error(err)
	}
}

func TestWebSocketOfAPage(t *testing.T) {
	w := newWorld(t, true)
	w.front = pages(t, w, http.NotFoundHandler())
	w.dashboard = func(rw http.ResponseWriter, r *http.Request) {
		if ws, err := websocket.Accept(rw, r, nil); err == nil { // which refuses a foreign Origin
			_ = ws.Write(r.Context(), websocket.MessageText, []byte("hello"))
			_ = ws.Close(websocket.StatusNormalClosure, "")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, w.front.URL+"/dashboards/x/tail", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"null"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if _, got, err := ws.Read(ctx); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

// attack is what a page tries with the session of who looks at it. It says what came of it by a request of its own.
const attack = `<!doctype html><title>x</title><body><script>
const stored = (() => { try { localStorage.setItem("a", "b"); return localStorage.getItem("a") + document.cookie + origin } catch (e) { return e.name } })();
const tried = fetch("/apis/v2/clusters", {credentials: "include"}).then(r => "read " + r.status, e => "refused");
const sent = fetch("/apis/v2/clusters", {method: "POST", mode: "no-cors", credentials: "include", body: "x"}).catch(() => 0);
const image = new Image(); image.src = "/apis/v2/image";
const frame = document.createElement("iframe"); frame.src = "/apis/v2/frame"; document.body.append(frame);
const form = Object.assign(document.createElement("form"), {action: "/apis/v2/form", method: "post", target: "w"}); document.body.append(form); form.submit();
const xhr = new Promise(done => { const x = new XMLHttpRequest(); x.onloadend = done; x.open("GET", "xhr"); x.send() });
const other = fetch("/elsewhere", {mode: "no-cors"}).catch(() => 0);
Promise.all([tried, sent, xhr, other]).then(([a]) => fetch("report?stored=" + stored + "&tried=" + a)).then(() => { location = "/apis/v2/navigated" });
</script>`

// TestPageInABrowser is an attack: a page with a script, looked at by somebody with a session of the gateway in the same browser.
func TestPageInABrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("pages are NOT tried in a browser: there is no chromium here")
	}
	var mu sync.Mutex
	asked := map[string]string{} // what was asked for -> the cookie that came with it
	var report string
	done, once := make(chan struct{}), sync.Once{}
	gateway := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		rw.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/login":
			http.SetCookie(rw, &http.Cookie{Name: "session", Value: "s", Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			_, _ = io.WriteString(rw, `<script>fetch("/apis/v2/own").then(() => { location = "/dashboards/x/" })</script>`)
		default:
			asked[r.Method+" "+r.URL.Path] = r.Header.Get("Cookie") + " " + r.Header.Get("Sec-Fetch-Site") + r.Header.Get(ProofHeader)
			if r.URL.Path == "/apis/v2/navigated" {
				once.Do(func() { close(done) })
			}
		}
	})
	w := newWorld(t, true)
	w.dashboard = func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/report" {
			mu.Lock()
			report = r.URL.RawQuery
			mu.Unlock()
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(rw, attack)
	}
	front := pages(t, w, gateway)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	profile, err := os.MkdirTemp("", "raygate-page-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // what the browser has started may write a little longer than it runs
		for range 100 {
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+profile, "--remote-debugging-port=0", front.URL+"/login")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends its own processes then
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	select {
	case <-done:
	case <-ctx.Done():
		t.Errorf("the page has not come to its end")
	}
	mu.Lock()
	defer mu.Unlock()
	if asked["GET /apis/v2/own"] != "session=s same-origin" {
		t.Errorf("a page of the gateway itself sends %q, so that this test shows nothing", asked["GET /apis/v2/own"])
	}
	delete(asked, "GET /apis/v2/own")
	if report != "stored=bnull&tried=refused" {
		t.Errorf("the page says %q", report)
	}
	w.mu.Lock()
	for _, want := range []string{"/ ", "/xhr PROOF"} { // the page itself has cookies instead
		if !slices.Contains(w.proofs, want) {
			t.Errorf("%q has not been asked for: %q", want, w.proofs)
		}
	}
	w.mu.Unlock()
	for _, want := range []string{"GET /elsewhere", "GET /apis/v2/clusters", "POST /apis/v2/clusters", "GET /apis/v2/navigated"} {
		if _, ok := asked[want]; !ok {
			t.Errorf("the attack %s did not happen: %v", want, asked)
		}
	}
	for what, with := range asked {
		if strings.HasPrefix(what, "GET /favicon") {
			continue
		}
		if strings.Contains(with, "session") || strings.Contains(with, "PROOF") || strings.Contains(with, "same-") {
			t.Errorf("%s came with %q", what, with)
		}
	}
}
