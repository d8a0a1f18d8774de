package podnet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hosts has a web server at every address of a Pod that says which it is.
type hosts struct{ t *testing.T }

func (h hosts) Endpoint(_ context.Context, addr netip.AddrPort) (Endpoint, error) {
	if addr.Port() == 1 {
		return nil, ErrRefused
	}
	l := NewListener()
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %q", addr, r.Host, r.Header.Get("Proxy-Authorization"))
	})}
	go func() { _ = s.Serve(l) }()
	h.t.Cleanup(func() {
		_ = s.Close()
		_ = l.Close()
	})
	return l.Serve, nil
}

func (hosts) Service(_ context.Context, namespace, name string, port uint16) (netip.AddrPort, error) {
	if name == "missing" {
		return netip.AddrPort{}, ErrRefused
	}
	return netip.AddrPortFrom(netip.MustParseAddr("10.244.0.7"), port+uint16(len(namespace))), nil
}

func (hosts) ServiceAt(_ context.Context, addr netip.AddrPort) (netip.AddrPort, error) {
	return netip.AddrPortFrom(netip.MustParseAddr("10.244.0.8"), addr.Port()), nil
}

func TestServiceNames(t *testing.T) {
	tests := map[string]struct{ name, ns string }{
		"a":                       {"a", "here"},
		"a.b":                     {"a", "b"},
		"a.b.svc":                 {"a", "b"},
		"a.b.svc.cluster.local":   {"a", "b"},
		"a.b.svc.cluster.local.":  {"a", "b"},
		"a.b.svc.example.com":     {"a", "b"},
		"www.example.com":         {},
		"localhost":               {},
		"api.github.com.svc.evil": {},
	}
	for host, want := range tests {
		name, ns, ok := serviceName(host, "here")
		if name != want.name || ns != want.ns || ok != (want.name != "") {
			t.Errorf("%s: got %q in %q, %t", host, name, ns, ok)
		}
	}
	if _, _, ok := serviceName("a", ""); ok {
		t.Error("a short name means nothing outside of a namespace")
	}
}

// patience is the limit of every wait for something that happens soon on a machine without other load.
const patience = time.Minute

func TestEgress(t *testing.T) {
	path, done, err := SocketPath(t.TempDir(), "s")
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- New(hosts{t}).ServeEgress(l) }()

	tests := map[string]struct {
		target string
		status string
		body   string
	}{
		"Pod":                   {"10.244.3.4:8265", "200", "10.244.3.4:8265 x \"\""},
		"node":                  {"10.245.0.1:10250", "200", "10.245.0.1:10250 x \"\""},
		"cluster IP":            {"10.96.0.9:443", "200", "10.244.0.8:443 x \"\""},
		"name of a webhook":     {"hook.system.svc:443", "200", "10.244.0.7:449 x \"\""},
		"nothing there":         {"10.244.3.4:1", "502", ""},
		"Service without Pods":  {"missing.system.svc:443", "502", ""},
		"elsewhere, not there":  {"127.0.0.1:1", "502", ""},
		"port that is too high": {"10.244.3.4:99999", "502", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(patience))
			// The request behind the tunnel comes at once, as of a client that does not wait.
			fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", tc.target)
			r := bufio.NewReader(c)
			resp, err := http.ReadResponse(r, &http.Request{Method: "CONNECT"})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(resp.Status, tc.status) {
				t.Fatalf("want %s, got %s", tc.status, resp.Status)
			}
			if tc.body == "" {
				return
			}
			inner, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, _ := io.ReadAll(inner.Body); string(body) != tc.body {
				t.Errorf("want %q, got %q", tc.body, body)
			}
		})
	}
	_ = l.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestProxy(t *testing.T) {
	p, err := NewProxy(New(hosts{t}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	good := p.URL("uid", Client{Namespace: "here", IP: "10.244.0.5"})
	if again := p.URL("uid", Client{Namespace: "here", IP: "10.244.0.5"}); again != good {
		t.Error("the password of a Pod has changed")
	}
	stranger := strings.Replace(good, "uid:", "other:", 1)
	ask := func(proxy, target string) (int, string) {
		t.Helper()
		u, err := url.Parse(proxy)
		if err != nil {
			t.Fatal(err)
		}
		tr := &http.Transport{Proxy: http.ProxyURL(u)}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr, Timeout: patience}).Get(target)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	tests := map[string]struct {
		proxy, target string
		code          int
		body          string
	}{
		"Service":               {good, "http://svc:8265/x", 200, `10.244.0.7:8269 svc:8265 ""`},
		"of another namespace":  {good, "http://svc.elsewhere:8265/x", 200, `10.244.0.7:8274 svc.elsewhere:8265 ""`},
		"own Pod":               {good, "http://127.0.0.1:8265/x", 200, `10.244.0.5:8265 127.0.0.1:8265 ""`},
		"own Pod by name":       {good, "http://localhost:8265/x", 200, `10.244.0.5:8265 localhost:8265 ""`},
		"own Pod, default port": {good, "http://localhost/x", 200, `10.244.0.5:80 localhost ""`},
		"nothing there":         {good, "http://127.0.0.1:1/x", 502, ""},
		"missing Service":       {good, "http://missing:8265/x", 502, ""},
		"stranger":              {stranger, "http://svc:8265/x", 407, ""},
		"wrong password":        {good[:len("http://uid:")] + "x" + good[len("http://uid:")+1:], "http://svc:8265/x", 407, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.proxy != stranger && strings.HasPrefix(tc.proxy, "http://uid:x") {
				tc.proxy = strings.Replace(tc.proxy, "uid:x", "uid:z", 1) // never a digit of the password
			}
			code, body := ask(tc.proxy, tc.target)
			if code != tc.code || tc.body != "" && body != tc.body {
				t.Errorf("want %d %q, got %d %q", tc.code, tc.body, code, body)
			}
		})
	}
	p.Remove("uid")
	if code, _ := ask(good, "http://svc:8265/x"); code != 407 {
		t.Errorf("a Pod that is gone: want 407, got %d", code)
	}
}

func TestSocketPathIsShort(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	path, done, err := SocketPath(long, "s")
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if len(path) > maxSocketPath {
		t.Errorf("%s has %d bytes", path, len(path))
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}
