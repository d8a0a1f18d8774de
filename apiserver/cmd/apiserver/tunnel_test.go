package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/coder/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/test/controlplane"
)

// testTunnel reaches the head of a cluster by a port-forward of the API server, with the rights of the caller.
func testTunnel(t *testing.T, env *controlplane.Env, kube kubernetes.Interface, p *process, tokens map[string]string) {
	ctx := t.Context()
	clusters := allServed()[0].kubernetes(t, env)
	open, err := clusters.Get(ctx, "open", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch := func(o object) []byte {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	owner := object{"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "open", "uid": string(open.GetUID()), "controller": true}
	if _, err := kube.CoreV1().Pods("default").Patch(ctx, "open-head", types.MergePatchType, patch(object{"metadata": object{"ownerReferences": []object{owner}}}), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := clusters.Patch(ctx, "open", types.MergePatchType, patch(object{"status": object{"head": object{"podName": "open-head"}}}), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	dial := func(user, port string) (*websocket.Conn, int) {
		ws, resp, err := websocket.Dial(ctx, "http://"+p.http+"/apis/v2/namespaces/default/clusters/open/tunnel?port="+port, &websocket.DialOptions{
			HTTPHeader: http.Header{"Authorization": {"Bearer " + tokens[user]}},
		})
		if resp == nil {
			t.Fatal(err)
		}
		return ws, resp.StatusCode
	}
	await.True(t, "the gateway to see the head", func() bool {
		ws, code := dial("submitter", "dashboard")
		if code != http.StatusSwitchingProtocols {
			return false
		}
		defer ws.CloseNow()
		conn := websocket.NetConn(ctx, ws, websocket.MessageBinary)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://head/api/version", nil)
		if err == nil {
			err = r.Write(conn)
		}
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	for user, want := range map[string]int{"reader": http.StatusForbidden, "outsider": http.StatusForbidden, "forwarder": http.StatusForbidden, "creator": http.StatusForbidden, "": http.StatusUnauthorized} {
		if _, code := dial(user, "dashboard"); code != want {
			t.Errorf("a tunnel of %q: %d, want %d", user, code, want)
		}
	}
	if _, code := dial("submitter", "22"); code != http.StatusBadRequest {
		t.Errorf("an undeclared port: %d", code)
	}
}
