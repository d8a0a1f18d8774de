package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// TestSession goes through local ports to a gateway that answers for the head.
func TestSession(t *testing.T) {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		port := r.URL.Query().Get("port")
		if r.URL.Path != "/apis/v2/namespaces/team/clusters/demo/tunnel" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("asked for %s", r.URL)
		}
		if port != "dashboard" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"code":3,"message":"no such port","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_SPEC","domain":"raygate.io"}]}`)
			return
		}
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		conn := websocket.NetConn(r.Context(), ws, websocket.MessageBinary)
		defer conn.Close()
		if asked, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfor %s", asked.URL.Path)
		}
	}))
	defer gateway.Close()
	t.Setenv("RAYGATE_URL", gateway.URL)
	common := []string{"session", "demo", "-n", "team", "--token", "secret"}
	end := filepath.Join(t.TempDir(), "end")
	said, ended := startWith("", append(common, "--", "sh", "-c", `echo "$RAY_API_SERVER_ADDRESS."; while ! [ -e "$0" ]; do sleep 0.05; done; exit 7`, end)...)
	said.eventually(t, ".\n", 1)
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(said.String())
	for _, path := range []string{"/one", "/two"} { // each on a connection of its own
		resp, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || string(text) != "for "+path {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ended().want(t, 7)
	if resp, err := http.Get(address); err == nil {
		_ = resp.Body.Close()
		t.Error("the port is open after the session")
	}
	raygate(append(common, "--port", "ssh")...).want(t, 1, "INVALID_SPEC", "raycluster/demo", "no such port")
	raygate(append(common, "--port", "x:ssh")...).want(t, 2, "[LOCAL:]PORT")
	t.Setenv("RAYGATE_URL", strings.Replace(gateway.URL, "127.0.0.1", "gateway.example", 1))
	raygate(common...).want(t, 2, "in the clear")
}
