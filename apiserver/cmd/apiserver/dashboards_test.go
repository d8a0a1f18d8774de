package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/internal/testing/await"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
	"github.com/raygate/raygate/test/controlplane"
)

// TestDashboards uses dashboards behind the Service proxy of a real API server, as users with different rights.
func TestDashboards(t *testing.T) {
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	head(t, env, kube, "open", "")
	head(t, env, kube, "guarded", "t0k3n")
	p := startProcess(t, env.Config, authn.Passthrough, func(o *Options) { o.UseKubernetesProxy = true })
	proxy := func(verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{""}, Resources: []string{"services/proxy"}}
	}
	core := func(verb, resource string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{resource}}
	}
	tokens := map[string]string{}
	for user, rules := range map[string][]rbacv1.PolicyRule{
		"submitter": {proxy("get", "create", "delete"), core("get", "secrets"), core("list", "pods"), core("get", "pods/log"), core("create", "pods/portforward")},
		"reader":    {proxy("get")},
		"creator":   {proxy("create")},
		"forwarder": {core("create", "pods/portforward")},
		"outsider":  {core("get", "services")},
	} {
		tokens[user] = userToken(t, kube, user, "get", "list", "watch", "create", "delete")
		allow(t, kube, user, rules...)
	}
	for transport, c := range map[string]func(user string) caller{
		"grpc": func(user string) caller { return newGRPCCaller(t, p.grpc, tokens[user]) },
		"rest": func(user string) caller { return restCaller{p.http, tokens[user]} },
	} {
		t.Run(transport, func(t *testing.T) {
			testSubmissions(t, transport, c)
			testJobLogs(t, env, kube, transport, c)
		})
	}
	t.Run("proxy", func(t *testing.T) { testDashboardPath(t, p, tokens) })
	t.Run("tunnel", func(t *testing.T) { testTunnel(t, env, kube, p, tokens) })
	t.Run("pages", func(t *testing.T) { testPages(t, kube, p, tokens) }) // takes rights away
	t.Run("metrics", func(t *testing.T) {
		resp, err := http.Get("http://" + p.health + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		for _, route := range []string{"clusters/{cluster}/submissions", "jobs/{name}/logs", "clusters/{cluster}/dashboard/{path}", "clusters/{cluster}/tunnel"} {
			if !strings.Contains(string(text), `route="/apis/v2/namespaces/{namespace}/`+route+`"`) {
				t.Errorf("no metrics of %s", route)
			}
		}
	})
}

// head makes a cluster as the operator would, on the simulated node.
func head(t *testing.T, env *controlplane.Env, kube kubernetes.Interface, name, token string) {
	t.Helper()
	ctx := t.Context()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-head", Labels: map[string]string{"ray.io/node-type": "head", "ray.io/cluster": name}},
		Spec: corev1.PodSpec{NodeName: node, RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
			Name: "ray-head", Image: "rayproject/ray:2.52.0", Ports: []corev1.ContainerPort{{Name: "dashboard", ContainerPort: 8265}},
		}}},
	}
	cluster := allServed()[0].example(t, name)
	if token != "" {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"auth_token": token}}
		if _, err := kube.CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		pod.Spec.Containers[0].Env = []corev1.EnvVar{
			{Name: "RAY_AUTH_MODE", Value: "token"},
			{Name: "RAY_AUTH_TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: "auth_token"}}},
		}
		cluster["spec"].(object)["authOptions"] = object{"mode": "token"}
	}
	await.NoError(t, "a Pod", func() error { // the default service account is on its way
		_, err := kube.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name + "-head-svc"}, Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: pod.Labels, PublishNotReadyAddresses: true,
		Ports: []corev1.ServicePort{{Name: "dashboard", Port: 8265, TargetPort: intstr.FromString("dashboard")}},
	}}
	if _, err := kube.CoreV1().Services("default").Create(ctx, service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	withStatus(t, allServed()[0].kubernetes(t, env), cluster, object{"state": "ready", "head": object{"serviceName": name + "-head-svc"}})
	await.True(t, "the Service leads to its head", func() bool {
		text, err := kube.CoreV1().RESTClient().Get().RequestURI("/api/v1/namespaces/default/services/" + name + "-head-svc:dashboard/proxy/api/gcs_healthz").DoRaw(ctx)
		return err == nil && string(text) == "success"
	})
}

// withStatus creates an object with a status.
func withStatus(t *testing.T, k dynamic.ResourceInterface, o, status object) {
	t.Helper()
	made, err := k.Create(t.Context(), asUnstructured(o), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Object["status"] = asUnstructured(object{"apiVersion": "v1", "kind": "x", "status": status}).Object["status"]
	if _, err := k.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// allow gives a user rights besides those on Ray objects.
func allow(t *testing.T, kube kubernetes.Interface, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: user + "-more"}
	if _, err := kube.RbacV1().Roles("default").Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := kube.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	controlplane.AwaitRule(t, kube.AuthorizationV1(), "default", user, rules[0])
}

var submissionMethods = raygatev2.File_raygate_v2_submission_service_proto.Services().Get(0).Methods()

func testSubmissions(t *testing.T, transport string, as func(user string) caller) {
	call := func(user, method, cluster string, more object) (object, error) {
		req := object{"namespace": "default", "cluster": cluster}
		maps.Copy(req, more)
		ctx, cancel := context.WithTimeout(t.Context(), controlplane.WaitTimeout)
		defer cancel()
		return as(user).call(ctx, submissionMethods.ByName(protoreflect.Name(method)), req)
	}
	for _, cluster := range []string{"open", "guarded"} {
		id := cluster + "-" + transport
		one := object{"submission_id": id}
		body := object{"submission": object{"entrypoint": "echo from " + id + "; sleep 120", "submissionId": id}}
		text := "services/proxy"
		readerCode := codes.OK
		if cluster == "guarded" {
			readerCode, text = codes.PermissionDenied, "Secret guarded"
		}
		_, err := call("outsider", "CreateSubmission", cluster, body)
		wantCode(t, "outsider submits", err, codes.PermissionDenied)
		_, err = call("reader", "CreateSubmission", cluster, body)
		wantCode(t, "reader submits", err, codes.PermissionDenied)
		_, err = call("submitter", "CreateSubmission", cluster, body)
		wantCode(t, "submitter submits", err, codes.OK)
		_, err = call("submitter", "CreateSubmission", cluster, body)
		wantCode(t, "submitter submits again", err, codes.AlreadyExists)
		for user, want := range map[string]codes.Code{"submitter": codes.OK, "reader": readerCode, "outsider": codes.PermissionDenied} {
			_, err := call(user, "GetSubmission", cluster, one)
			wantCode(t, user+" gets", err, want)
			if user == "reader" && err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%s is told %v, want %q", user, err, text)
			}
			_, err = call(user, "ListSubmissions", cluster, nil)
			wantCode(t, user+" lists", err, want)
			_, err = call(user, "GetSubmissionLogs", cluster, object{"submission_id": id, "follow": true})
			wantCode(t, user+" reads the log", err, want)
		}
		for _, user := range []string{"outsider", "reader"} {
			_, err = call(user, "StopSubmission", cluster, one)
			wantCode(t, user+" stops", err, codes.PermissionDenied)
			_, err = call(user, "DeleteSubmission", cluster, one)
			wantCode(t, user+" deletes", err, codes.PermissionDenied)
		}
		_, err = call("submitter", "DeleteSubmission", cluster, one)
		wantCode(t, "submitter deletes what runs", err, codes.FailedPrecondition)
		_, err = call("submitter", "StopSubmission", cluster, one)
		wantCode(t, "submitter stops", err, codes.OK)
		await.True(t, "the job is stopped", func() bool {
			got, err := call("submitter", "GetSubmission", cluster, one)
			return err == nil && (at(got, "status") == "STOPPED" || at(got, "submission", "status") == "STOPPED")
		})
		_, err = call("submitter", "DeleteSubmission", cluster, one)
		wantCode(t, "submitter deletes", err, codes.OK)
		_, err = call("submitter", "GetSubmission", cluster, one)
		wantCode(t, "submitter gets what is deleted", err, codes.NotFound)
	}
	for _, cluster := range []string{"missing", "Bad_Name"} {
		_, err := call("submitter", "ListSubmissions", cluster, nil)
		wantCode(t, "list on "+cluster, err, map[string]codes.Code{"missing": codes.NotFound, "Bad_Name": codes.InvalidArgument}[cluster])
	}
	testHostileSubmissions(t, as("submitter"))
}

// testHostileSubmissions sends values that nobody would to each method.
func testHostileSubmissions(t *testing.T, c caller) {
	for i := range submissionMethods.Len() {
		m := submissionMethods.Get(i)
		for _, value := range []string{"", ".", "..", "a/b", "%2e%2e", "a:stop", strings.Repeat("x", 5000), "\u0000", "ä ö?#&="} {
			for _, field := range []string{"namespace", "cluster", "submission_id", "page_token"} {
				if m.Input().Fields().ByName(protoreflect.Name(field)) == nil {
					continue
				}
				req := object{"namespace": "default", "cluster": "open", "submission": object{"entrypoint": "true"}}
				if m.Input().Fields().ByName("submission_id") != nil {
					req["submission_id"] = "x"
				}
				req[field] = value
				if m.Name() != "CreateSubmission" {
					delete(req, "submission")
				}
				_, err := c.call(t.Context(), m, req)
				if text := fmt.Sprint(err); strings.Contains(text, "Internal") || strings.Contains(text, "INTERNAL") {
					t.Errorf("%s with %s %.20q: %.200s", m.Name(), field, value, text)
				}
			}
		}
	}
}

func testJobLogs(t *testing.T, env *controlplane.Env, kube kubernetes.Interface, transport string, as func(user string) caller) {
	jobs := allServed()[1]
	for _, cluster := range []string{"open", "guarded"} {
		name := "job-" + cluster + "-" + transport
		_, err := as("submitter").call(t.Context(), submissionMethods.ByName("CreateSubmission"), object{
			"namespace": "default", "cluster": cluster, "submission": object{"entrypoint": "echo hello; sleep 120", "submissionId": name},
		})
		wantCode(t, "submit", err, codes.OK)
		withStatus(t, jobs.kubernetes(t, env), jobs.example(t, name), object{
			"jobId": name, "rayClusterName": cluster, "jobDeploymentStatus": "Running", "jobStatus": "RUNNING", "dashboardURL": "evil.example.org:80", "observedGeneration": 1,
		})
		readerCode := codes.OK
		if cluster == "guarded" {
			readerCode = codes.PermissionDenied
		}
		for user, want := range map[string]codes.Code{"submitter": codes.OK, "reader": readerCode, "outsider": codes.PermissionDenied} {
			var answer object
			await.True(t, "the gateway sees the job", func() bool { // it was made without it
				answer, err = as(user).call(t.Context(), jobs.method(t, "Get", "Logs"), object{"namespace": "default", "name": name, "follow": true})
				return err == nil || !strings.Contains(err.Error(), "NotFound") && !strings.Contains(err.Error(), "NOT_FOUND") && !strings.Contains(err.Error(), "not started")
			})
			wantCode(t, user+" reads the log", err, want)
			if text := fmt.Sprint(answer); want == codes.OK && !strings.Contains(text, "hello") && !strings.Contains(text, "aGVsbG8K") {
				t.Errorf("the log is %s", text)
			}
			if user != "submitter" {
				_, err = as(user).call(t.Context(), jobs.method(t, "Stop", ""), object{"namespace": "default", "name": name})
				wantCode(t, user+" stops", err, codes.PermissionDenied)
			}
		}
		stopped := jobs.must(t, as("submitter"), jobs.method(t, "Stop", ""), object{"namespace": "default", "name": name})
		if at(stopped, "metadata", "name") != name {
			t.Errorf("stop answers %v", stopped)
		}
		await.True(t, "the job is stopped", func() bool {
			_, err = as("submitter").call(t.Context(), jobs.method(t, "Stop", ""), object{"namespace": "default", "name": name})
			return err != nil
		})
		wantCode(t, "stop of a job that has ended", err, codes.FailedPrecondition)
		testSubmitterPod(t, kube, jobs, name, as)
		diagnosis, err := as("submitter").call(t.Context(), jobs.method(t, "Diagnose", ""), object{"namespace": "default", "name": name})
		if err != nil || at(diagnosis, "ready") != true {
			t.Errorf("diagnosis %v, %v", diagnosis, err)
		}
	}
}

// testSubmitterPod reads the log of a Pod that bears the label of a Kubernetes Job.
func testSubmitterPod(t *testing.T, kube kubernetes.Interface, jobs served, name string, as func(user string) caller) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-x", Labels: map[string]string{"batch.kubernetes.io/job-name": name}},
		Spec:       corev1.PodSpec{NodeName: node, RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "any", Image: "x"}}},
	}
	if _, err := kube.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	logs := func(user string) (object, error) {
		return as(user).call(t.Context(), jobs.method(t, "Get", "Logs"), object{"namespace": "default", "name": name, "source": "submitter"})
	}
	var answer object
	var err error
	await.True(t, "the log of a simulated container says that it is simulated", func() bool {
		answer, err = logs("submitter")
		return (err == nil || errors.Is(err, io.EOF)) && len(answer) > 0
	})
	_, err = logs("reader")
	wantCode(t, "reader reads the Pod's log", err, codes.PermissionDenied)
}

// testDashboardPath goes to the dashboard as Ray's own clients do.
func testDashboardPath(t *testing.T, p *process, tokens map[string]string) {
	for user, want := range map[string]map[string]int{"submitter": {"GET": 200, "POST": 200}, "reader": {"GET": 200, "POST": 403}, "outsider": {"GET": 403, "POST": 403}, "": {"GET": 401, "POST": 401}} {
		for method, code := range want {
			body := ""
			if method == "POST" {
				body = `{"entrypoint":"true"}`
			}
			resp, err := restEntry{p.http, tokens[user], "application/json"}.send(t.Context(), method, "/apis/v2/namespaces/default/clusters/open/dashboard/api/jobs/", []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != code {
				t.Errorf("%s of %s: %d %s", method, user, resp.StatusCode, text)
			}
		}
	}
}
