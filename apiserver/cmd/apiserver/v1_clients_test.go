package main

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// TestV1Wire looks at bytes: what is accepted, how it is answered, and what an error is.
func TestV1Wire(t *testing.T) {
	w := newV1World(t)
	in := func(text string) string { return strings.ReplaceAll(text, "NS", w.namespace) }
	// What KubeRay's Python client sends, with its misspelt members and its two ways to write names, and the recipes of its documents.
	for name, tc := range map[string]struct {
		method, path, body string
		code               int
		want               []string
	}{
		"smoke test of the root":         {"GET", "/", "", 404, []string{`"code":5`}},
		"an unknown path":                {"GET", "/apis/v1/nothing", "", 404, []string{`"code":5`, `"message":"Not Found"`}},
		"image templates are not served": {"GET", w.path("image_templates"), "", 404, []string{`"code":5`}},
		"a method that there is not":     {"PATCH", w.path("clusters"), "", 405, []string{`"code":12`}},
		"an empty list of clusters":      {"GET", "/apis/v1/namespaces/nothing-there/clusters", "", 200, []string{`{"clusters":[]}`}},
		"an empty list of jobs":          {"GET", "/apis/v1/namespaces/nothing-there/jobs", "", 200, []string{`{}`}},
		"no JSON":                        {"POST", w.path("clusters"), `{`, 400, []string{`"code":3`}},
		"a wrong type":                   {"POST", w.path("clusters"), `{"name": 7}`, 400, []string{`"code":3`}},
		"null":                           {"POST", w.path("clusters"), `null`, 400, []string{`"code":3`}},
		"no body":                        {"POST", w.path("clusters"), ``, 400, []string{`"code":3`}},
		"a list":                         {"POST", w.path("clusters"), `[]`, 400, []string{`"code":3`}},
		"template of the Python client": {"POST", w.path("compute_templates"), `{"name":"python","namespace":"NS","cpu":2,"memory":4,"gpu":1,"gpu accelerator":"x","extended resources":{"a":1},"tolerations":[{"key":"k","operator":"Exists","effect":"NoSchedule"}]}`, 200,
			[]string{`{"name":"python","namespace":"NS","cpu":2,"memory":4,"gpu":1,"tolerations":[{"key":"k","operator":"Exists","effect":"NoSchedule"}],"memoryUnit":"Gi"}`}},
		"cluster of the Python client": {"POST", w.path("clusters"), `{"name":"python","namespace":"NS","user":"boris","version":"2.9.0","environment":0,"clusterSpec":{"headGroupSpec":{"computeTemplate":"default-template","rayStartParams":{"a":"b"},"image":"i:1","serviceType":"ClusterIP","service_account":"sa","image_pull_secret":"ps","volumes":[{"name":"v","mountPath":"/v","volumeType":0,"source":"claim","readOnly":true}],"environment":{"values":{"a":"b"},"valuesFrom":{"c":{"source":1,"name":"s","key":"k"}}}},"workerGroupSpec":[{"groupName":"w","computeTemplate":"default-template","replicas":1,"minReplicas":1,"maxReplicas":1,"image":"i:1","service_account":"sa","imagePullSecret":"ps"}]}}`, 200,
			[]string{`"serviceAccount":"sa"`, `"imagePullSecret":"ps"`, `"volumeType":0`, `"source":1`, `"rayStartParams":{}`}},
		"enum names, snake case and numbers as text": {"POST", w.path("clusters"), `{"name":"names","namespace":"NS","user":"u","version":"2.46.0","environment":"PRODUCTION","cluster_spec":{"head_group_spec":{"compute_template":"default-template","ray_start_params":{"a":"b"},"volumes":[{"name":"c","mount_path":"/c","volume_type":"CONFIGMAP","source":"c"}]},"worker_group_spec":[{"group_name":"w","compute_template":"default-template","replicas":"1","max_replicas":"5"}]}}`, 200,
			[]string{`"environment":3`, `"volumeType":3`, `"minReplicas":1`}},
		"an enum name that there is not":    {"POST", w.path("clusters"), `{"name":"enum","namespace":"NS","user":"u","version":"2.46.0","environment":"MARS","clusterSpec":{"headGroupSpec":{"computeTemplate":"default-template","rayStartParams":{"a":"b"}}}}`, 200, []string{`"name":"enum"`}},
		"without a version but with images": {"POST", w.path("clusters"), `{"name":"images","namespace":"NS","user":"u","clusterSpec":{"headGroupSpec":{"computeTemplate":"default-template","image":"i:1","rayStartParams":{"a":"b"},"volumes":[]}}}`, 200, []string{`"image":"i:1"`}},
		"external Redis": {"POST", w.path("clusters"), `{"name":"redis","namespace":"NS","user":"u","version":"2.46.0","annotations":{"ray.io/ft-enabled":"true"},"clusterSpec":{"headGroupSpec":{"computeTemplate":"default-template","rayStartParams":{"redis-password":"$REDIS_PASSWORD"},"environment":{"values":{"RAY_REDIS_ADDRESS":"redis:6379"},"valuesFrom":{"REDIS_PASSWORD":{"source":1,"name":"s","key":"p"}}}}}}`, 200,
			[]string{`"ray.io/ft-enabled":"true"`, `"REDIS_PASSWORD":{"source":1`}},
		"a misspelt class of storage": {"POST", w.path("clusters"), `{"name":"class","namespace":"NS","user":"u","version":"2.46.0","clusterSpec":{"headGroupSpec":{"computeTemplate":"default-template","rayStartParams":{"a":"b"},"volumes":[{"name":"e","mountPath":"/e","volumeType":2,"storage":"1024Mi","storageClass":"x"}]}}}`, 200, []string{`"storage":"1Gi"`}},
		"a job on a cluster": {"POST", w.path("jobs"), `{"name":"job","namespace":"NS","user":"u","entrypoint":"python a.py","clusterSelector":{"ray.io/cluster":"python"},"jobSubmitter":{"image":"i:1","cpu":"400m","memory":"150Mi"}}`, 200,
			[]string{`"jobSubmitter":{"image":"i:1","cpu":"400m","memory":"150Mi"}`}},
		"a service":                  {"POST", w.path("services"), `{"name":"service","namespace":"NS","user":"u","version":"2.46.0","serveConfigV2":"applications: []\n","clusterSpec":{"headGroupSpec":{"computeTemplate":"default-template","rayStartParams":{"a":"b"}}}}`, 200, []string{`"serveConfigV2":"applications: []\n"`}},
		"an empty list of templates": {"GET", "/apis/v1/namespaces/nothing-there/compute_templates", "", 200, []string{`{"computeTemplates":[]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			code, body, header := w.send(t, tc.method, tc.path, in(tc.body))
			if code != tc.code {
				t.Errorf("want %d, got %d: %s", tc.code, code, body)
			}
			for _, part := range tc.want {
				if !strings.Contains(body, in(part)) {
					t.Errorf("no %s in %s", in(part), body)
				}
			}
			if code != 200 && strings.HasPrefix(tc.path, "/apis/v1") {
				wantError(t, body, header)
			}
			if name == "template of the Python client" {
				if warnings := header.Values("Warning"); !slices.Contains(warnings, `299 - "unknown field gpu accelerator is ignored"`) {
					t.Errorf("nothing says that members were ignored: %v", warnings)
				}
			}
		})
	}
	t.Run("a slash too many", func(t *testing.T) {
		w.want(t, 200, "GET", "/"+w.path("clusters"), nil, &kuberay.ListClustersResponse{})
	})
	t.Run("a deadline", func(t *testing.T) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+w.base+w.path("compute_templates", "python"), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Grpc-Timeout", "1n")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("after a nanosecond: %d", resp.StatusCode)
		}
	})
}

// wantError demands that the body of an error has nothing but a code and a message, and that headers have the rest.
func wantError(t *testing.T, body string, header http.Header) {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(body), &members); err != nil || len(members) != 2 || members["code"] == nil || members["message"] == "" {
		t.Errorf("an error is %s", body)
	}
	data, err := base64.RawStdEncoding.DecodeString(header.Get("Grpc-Status-Details-Bin"))
	st := &spb.Status{}
	if err != nil || proto.Unmarshal(data, st) != nil || rpcstatus.Detail[*errdetails.ErrorInfo](status.FromProto(st)).GetReason() != header.Get("X-Error-Reason") || header.Get("X-Error-Reason") == "" {
		t.Errorf("the headers of an error are %v", header)
	}
}

func (p *process) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(p.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
