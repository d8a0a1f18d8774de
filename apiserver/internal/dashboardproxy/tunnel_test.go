package dashboardproxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// tunnel opens a tunnel as alice; refused is the reason of a refusal.
func (w *world) tunnel(ctx context.Context, t *testing.T, port string) (ws *websocket.Conn, refused string) {
	t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		alice := authn.WithCaller(r.Context(), authn.NewCaller(user.DefaultInfo{Name: "alice"}, "alice"))
		if err := w.proxy.Tunnel(rw, r.WithContext(alice), demo, port); err != nil {
			st, _ := rpcstatus.NewTable().Status(err, "")
			http.Error(rw, st.Message(), http.StatusTeapot)
		}
	}))
	t.Cleanup(front.Close)
	ws, resp, err := websocket.Dial(ctx, front.URL, nil)
	if err == nil {
		t.Cleanup(func() { _ = ws.CloseNow() })
		return ws, ""
	}
	if resp == nil || resp.StatusCode != http.StatusTeapot {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	return nil, string(text)
}

// A tunnel carries a protocol of the head's port to a caller who may create, until the process stops.
func TestTunnel(t *testing.T) {
	w := newWorld(t, true)
	stop := make(chan struct{})
	w.proxy.Stop = stop
	w.dashboard = func(rw http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		_, _ = rw.Write(text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, port := range []string{"dashboard", strconv.Itoa(int(w.cluster.Spec.HeadGroupSpec.Template.Spec.Containers[0].Ports[0].ContainerPort))} {
		ws, refused := w.tunnel(ctx, t, port)
		if refused != "" {
			t.Fatalf("port %s: %s", port, refused)
		}
		conn := websocket.NetConn(ctx, ws, websocket.MessageBinary)
		for _, text := range []string{"one", strings.Repeat("x", 1<<20)} { // on one connection, and one beyond a buffer
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://head/echo", strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			go func() { _ = r.Write(conn) }()
			resp, err := http.ReadResponse(bufio.NewReader(conn), r)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != text {
				t.Errorf("%d bytes come back, %v", len(got), err)
			}
		}
		if port == "dashboard" {
			_ = ws.CloseNow()
			continue
		}
		close(stop)
		if _, _, err := ws.Read(ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("the gateway stops: %v", err)
		}
	}
	if want := (authz.Access{Verb: "create", Resource: "services", Subresource: "proxy", Namespace: "default", Name: "demo-head-svc"}); w.asked[1] != want {
		t.Errorf("a tunnel asks for %v", w.asked)
	}
}

func TestRefusedTunnels(t *testing.T) {
	for name, tc := range map[string]struct {
		edit       func(*world)
		port, want string
	}{
		"an undeclared port":     {func(*world) {}, "22", "declares no TCP port 22; it declares dashboard"},
		"no port":                {func(*world) {}, "", "declares no TCP port"},
		"no right to create":     {func(w *world) { w.denied = "create" }, "dashboard", "forbidden"},
		"a Pod of another":       {func(w *world) { w.pod.OwnerReferences = nil }, "dashboard", "does not belong to RayCluster"},
		"a Pod on loopback":      {func(w *world) { w.pod.Status.PodIP = "127.0.0.1" }, "dashboard", "nothing answers"},
		"a port without program": {func(w *world) { w.cluster.Spec.HeadGroupSpec.Template.Spec.Containers[0].Ports[0].ContainerPort = 1 }, "1", "nothing answers"},
		"another host": {func(w *world) {
			w.cluster.Spec.HeadGroupSpec.HeadService = &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "evil.example",
				Ports: []corev1.ServicePort{{Name: "evil", Port: 1}}}}
		}, "evil", "nothing answers"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, true)
			tc.edit(w)
			if _, refused := w.tunnel(t.Context(), t, tc.port); !strings.Contains(refused, tc.want) || strings.Contains(refused, "127.0.0.1") || len(w.seen) > 0 {
				t.Errorf("got %q, want %q", refused, tc.want)
			}
		})
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if e, ok := errors.AsType[*rpcstatus.Error](newWorld(t, true).proxy.Tunnel(httptest.NewRecorder(), r, demo, "dashboard")); !ok || e.Reason != "NOT_A_WEBSOCKET" {
		t.Errorf("a request that is no WebSocket: %v", e)
	}
}
