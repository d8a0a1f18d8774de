package controlplane

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

var etcd = http.Client{Timeout: WaitTimeout}

// Stored reads an object that is stored as JSON from etcd, past the API server. The resource is that of the URL, as in ray.io/rayclusters.
// It fails the test if there is no such object.
func (e *Env) Stored(tb testing.TB, resource, namespace, name string) map[string]any {
	tb.Helper()
	key := base64.StdEncoding.EncodeToString([]byte("/registry/" + resource + "/" + namespace + "/" + name))
	response, err := etcd.Post(e.Etcd+"/v3/kv/range", "application/json", strings.NewReader(`{"key":"`+key+`"}`))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var out struct{ Kvs []struct{ Value []byte } }
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil || len(out.Kvs) != 1 {
		tb.Fatalf("reading %s from etcd: status %d, %d values, %v", name, response.StatusCode, len(out.Kvs), err)
	}
	var obj map[string]any
	if err := json.Unmarshal(out.Kvs[0].Value, &obj); err != nil {
		tb.Fatal(err)
	}
	return obj
}
