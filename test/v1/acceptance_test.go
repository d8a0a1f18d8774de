package v1

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc/codes"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// services are those of V1 that are served; the last of a file's is.
func services() []protoreflect.ServiceDescriptor {
	var all []protoreflect.ServiceDescriptor
	for _, file := range []protoreflect.FileDescriptor{
		kuberay.File_kuberay_cluster_proto, kuberay.File_kuberay_config_proto, kuberay.File_kuberay_job_proto, kuberay.File_kuberay_job_submission_proto, kuberay.File_kuberay_serve_proto,
	} {
		for i := range file.Services().Len() {
			all = append(all, file.Services().Get(i))
		}
	}
	return all
}

// rule returns the HTTP method, the path and the body's field of a method.
func rule(m protoreflect.MethodDescriptor) (verb, path, body string) {
	r := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	for verb, path := range map[string]string{"GET": r.GetGet(), "POST": r.GetPost(), "PUT": r.GetPut(), "DELETE": r.GetDelete()} {
		if path != "" {
			return verb, path, r.GetBody()
		}
	}
	return "", "", ""
}

// TestAcceptance shows what existing clients depend on. TestJobs and the tests of the gateway have the round trips, and its TestV1Pages the pages.
func TestAcceptance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.goClient
	send := func(t *testing.T, method, path, body string, headers ...string) (int, string, http.Header) {
		t.Helper()
		code, answer, header, err := c.exchange(t.Context(), method, path, []byte(body), headers...)
		if err != nil {
			t.Fatal(err)
		}
		return code, string(answer), header
	}
	t.Run("paths, verbs and bodies of every method", func(t *testing.T) {
		for _, s := range services() {
			for i := range s.Methods().Len() {
				m := s.Methods().Get(i)
				verb, path, body := rule(m)
				path = strings.NewReplacer("{namespace}", w.namespace, "{name}", "none", "{clustername}", "none", "{submissionid}", "none").Replace(path)
				want := map[bool]string{true: "400", false: "200 404"}[body != ""]
				if s.Name() == "ImageTemplateService" {
					want = "404"
				}
				code, answer, _ := send(t, verb, path, map[bool]string{true: "{}"}[body != ""])
				if !strings.Contains(want+" 404", fmt.Sprint(code)) || code == 404 && s.Name() == "ImageTemplateService" != strings.Contains(answer, `"message":"Not Found"`) {
					t.Errorf("%s: %s %s is %d %s", m.FullName(), verb, path, code, answer)
				}
			}
		}
	})
	t.Run("JSON", func(t *testing.T) {
		for name, tc := range map[string]struct {
			body string
			code int
			want string
		}{
			"text for numbers, null for unset": {`{"name":"texts","namespace":"NS","cpu":"2","memory":"4","tolerations":null}`, 200, `{"name":"texts","namespace":"NS","cpu":2,"memory":4,"memoryUnit":"Gi"}`},
			"any content type":                 {`{"name":"types","namespace":"NS","cpu":2,"memory":4}`, 200, `"name":"types"`},
		} {
			code, answer, header := send(t, "POST", w.path("compute_templates"), strings.ReplaceAll(tc.body, "NS", w.namespace), "Content-Type", "text/plain", "Accept", "image/png")
			if code != tc.code || !strings.Contains(answer, strings.ReplaceAll(tc.want, "NS", w.namespace)) || header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %d %s as %s", name, code, answer, header.Get("Content-Type"))
			}
		}
	})
	t.Run("routing", func(t *testing.T) {
		for _, tc := range []struct {
			method, path string
			want         int
		}{
			{"GET", "/apis/v1/unknown", 404}, {"GET", "/nothing", 404}, {"GET", "/apis/v1/namespaces//clusters", 404}, {"GET", w.path("clusters", ""), 400},
			{"GET", w.path("clusters") + "?unknown=1&page_token=x", 200}, {"GET", w.path("clusters") + "?limit=abc", 400}, {"GET", w.path("services") + "?page_size=1&pageToken=", 200},
			{"PATCH", w.path("clusters"), 405}, {"DELETE", w.path("clusters"), 405}, {"GET", w.path("clusters", "a%2Fb"), 404},
		} {
			if code, answer, _ := send(t, tc.method, tc.path, ""); code != tc.want {
				t.Errorf("%s %s: want %d, got %d %s", tc.method, tc.path, tc.want, code, answer)
			}
		}
		if code, _, _ := send(t, "POST", w.path("clusters", "none"), "", "X-HTTP-Method-Override", "DELETE"); code != 405 {
			t.Errorf("a method in a header counts: %d", code)
		}
	})
	t.Run("reply style", func(t *testing.T) {
		sent := w.cluster("style")
		sent.ClusterSpec.HeadGroupSpec.Volumes = []*kuberay.Volume{{Name: "claim", MountPath: "/claim", Source: "claim"}}
		sent.ClusterSpec.WorkerGroupSpec[0].RayStartParams = nil
		sent.ClusterSpec.HeadGroupSpec.ServiceType = ""
		w.in(t).ok("POST", w.path("clusters"), sent, &kuberay.Cluster{})
		_, answer, _ := send(t, "GET", w.path("clusters", "style"), "")
		for _, want := range []string{`"volumeType":0`, `"rayStartParams":{}`, `"environment":{}`} {
			if !strings.Contains(answer, want) {
				t.Errorf("no %s in %s", want, answer)
			}
		}
		for _, bad := range []string{`"serviceType":""`, `"upscalingMode":""`, `null`, `"DEV"`, `"envs"`, `"autoscalerOptions"`} {
			if strings.Contains(answer, bad) {
				t.Errorf("%s in %s", bad, answer)
			}
		}
	})
	t.Run("gRPC", func(t *testing.T) { testGRPC(w.in(t)) })
	t.Run("endpoints", func(t *testing.T) {
		for path, want := range map[string]string{
			"/healthz": "ok", "/metrics": `grpc_server_handled_total{grpc_code="OK",grpc_method="CreateComputeTemplate",grpc_service="proto.ComputeTemplateService"`, "/swagger-ui/": "/swagger/",
			"/swagger/cluster.swagger.json": `"/apis/v1/clusters"`, "/swagger/config.swagger.json": `"/apis/v1/compute_templates"`, "/swagger/job.swagger.json": `"/apis/v1/jobs"`,
			"/swagger/job_submission.swagger.json": "/jobsubmissions/", "/swagger/serve.swagger.json": `"/apis/v1/services"`, "/swagger/error.swagger.json": `"swagger"`,
		} {
			code, answer, _ := send(t, "GET", path, "")
			if code != 200 || !strings.Contains(answer, want) {
				t.Errorf("%s: %d, and no %s in %.300s", path, code, want, answer)
			}
		}
		for _, name := range []string{"started_total", "handled_total", "msg_received_total", "msg_sent_total", "handling_seconds_bucket"} {
			if _, answer, _ := send(t, "GET", "/metrics", ""); !strings.Contains(answer, "grpc_server_"+name) {
				t.Errorf("no metric grpc_server_%s", name)
			}
		}
		for _, path := range []string{"/swagger/none.swagger.json", "/swagger/", "/metricsX", "/swagger/../secret"} {
			if code, answer, _ := send(t, "GET", path, ""); code != 404 || !strings.HasPrefix(answer, `{"code":5`) {
				t.Errorf("%s: %d %s", path, code, answer)
			}
		}
	})
}

// testGRPC speaks to the services by their names, as stubs that were generated elsewhere do, and finds them by reflection.
func testGRPC(w *world) {
	ctx := w.Context()
	byREST := &kuberay.ComputeTemplate{}
	w.ok("GET", w.path("compute_templates", w.template), nil, byREST)
	got := &kuberay.ComputeTemplate{}
	if err := product.conn.Invoke(ctx, "/proto.ComputeTemplateService/GetComputeTemplate", &kuberay.GetComputeTemplateRequest{Namespace: w.namespace, Name: w.template}, got); err != nil || !proto.Equal(got, byREST) {
		w.Errorf("by gRPC %v, by REST %v: %v", got, byREST, err)
	}
	err := product.conn.Invoke(ctx, "/proto.ImageTemplateService/GetImageTemplate", &kuberay.GetImageTemplateRequest{}, &kuberay.ImageTemplate{})
	if status.Code(err) != codes.Unimplemented {
		w.Errorf("an image template: %v", err)
	}
	stream, err := reflectionpb.NewServerReflectionClient(product.conn).ServerReflectionInfo(ctx)
	if err != nil {
		w.Fatal(err)
	}
	if err := stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); err != nil {
		w.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		w.Fatal(err)
	}
	listed := fmt.Sprint(answer.GetListServicesResponse())
	for _, s := range services() {
		if strings.Contains(listed, `"`+string(s.FullName())+`"`) == (s.Name() == "ImageTemplateService") {
			w.Errorf("%s is, or is not, among %s", s.FullName(), listed)
		}
	}
}
