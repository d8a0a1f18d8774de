package dashboards

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"testing"

	"github.com/raygate/raygate/internal/testing/podaddress"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/headpod"
)

// TestProbe reaches a proxy as Serve was started: with TLS, and with a root path, which is part of the path for some versions of Ray.
func TestProbe(t *testing.T) {
	for name, tc := range map[string]struct {
		path    string // that is healthy
		options dashboard.ServeHTTPOptions
		tls     bool
		want    bool
	}{
		"as by default":                {"/-/healthz", dashboard.ServeHTTPOptions{}, false, true},
		"TLS":                          {"/-/healthz", dashboard.ServeHTTPOptions{TLS: true}, true, true},
		"TLS that nobody tells of":     {"/-/healthz", dashboard.ServeHTTPOptions{}, true, false},
		"below a root path":            {"/api/v2/-/healthz", dashboard.ServeHTTPOptions{RootPath: "/api/v2"}, false, true},
		"a root path that counts not":  {"/-/healthz", dashboard.ServeHTTPOptions{RootPath: "/api"}, false, true},
		"a root path nobody tells of":  {"/api/-/healthz", dashboard.ServeHTTPOptions{}, false, false},
		"TLS below a root path":        {"/api/-/healthz", dashboard.ServeHTTPOptions{RootPath: "/api", TLS: true}, true, true},
		"a redirect is not followed":   {"/elsewhere", dashboard.ServeHTTPOptions{RootPath: "/moved"}, false, false},
		"not healthy with a root path": {"/nowhere", dashboard.ServeHTTPOptions{RootPath: "/api"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case tc.path:
				case "/moved/-/healthz":
					http.Redirect(w, r, tc.path, http.StatusFound)
				default:
					http.NotFound(w, r)
				}
			})
			server := httptest.NewUnstartedServer(serve)
			_ = server.Listener.Close()
			server.Listener = podaddress.Listen(t)
			server.Config.ErrorLog = nil
			if tc.tls {
				server.StartTLS()
			} else {
				server.Start()
			}
			defer server.Close()
			host, port, err := net.SplitHostPort(server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			n, err := strconv.ParseInt(port, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			ask, pod := ProbeDirect(headpod.NewTransport("")), Pod{IP: host, Port: int32(n), HTTP: tc.options}
			if got, err := ask(t.Context(), pod); got != tc.want || err != nil {
				t.Errorf("got %t, %v", got, err)
			}
			server.Close()
			if got, err := ask(t.Context(), pod); got || !errors.Is(err, dashboard.ErrUnavailable) {
				t.Errorf("nobody listens: %t, %v", got, err)
			}
		})
	}
}

// A head that claims to be on loopback is not asked.
func TestProbesGoToPodsOnly(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	address := netip.MustParseAddrPort(server.Listener.Addr().String())
	if ok, err := ProbeDirect(headpod.NewTransport(""))(t.Context(), Pod{IP: address.Addr().String(), Port: int32(address.Port())}); ok || asked || !errors.Is(err, headpod.ErrRefused) {
		t.Errorf("%t, %v, asked %t", ok, err, asked)
	}
}

// TestProbeProxied names the port and the scheme as the Pod proxy wants them.
func TestProbeProxied(t *testing.T) {
	var paths []string
	kube := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { paths = append(paths, r.URL.Path) }))
	defer kube.Close()
	server, err := url.Parse(kube.URL)
	if err != nil {
		t.Fatal(err)
	}
	ask := ProbeProxied(server, http.DefaultTransport)
	for _, o := range []dashboard.ServeHTTPOptions{{}, {TLS: true, RootPath: "/api"}} {
		if ok, err := ask(t.Context(), Pod{Namespace: "ml", Name: "demo-head", Port: 8000, HTTP: o}); !ok || err != nil {
			t.Errorf("%+v: %t, %v", o, ok, err)
		}
	}
	want := []string{"/api/v1/namespaces/ml/pods/demo-head:8000/proxy/-/healthz", "/api/v1/namespaces/ml/pods/https:demo-head:8000/proxy/api/-/healthz"}
	if len(paths) != 2 || paths[0] != want[0] || paths[1] != want[1] {
		t.Errorf("asked %v, want %v", paths, want)
	}
}
