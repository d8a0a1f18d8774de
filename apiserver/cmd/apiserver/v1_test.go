package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// v1Client has the habits of KubeRay's Go client: it sends the names of the proto and of enums, always sends both parameters of a list, takes only 200 for
// success, and refuses an answer with a member that it does not know, be it a success or an error.
type v1Client struct {
	base, authorization string
}

// send returns the status code and the body of an answer.
func (c v1Client) send(t *testing.T, method, path, body string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+c.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.authorization != "" {
		r.Header.Set("Authorization", c.authorization)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		t.Errorf("%s %s: answer of type %q", method, path, resp.Header.Get("Content-Type"))
	}
	return resp.StatusCode, string(data), resp.Header
}

// call sends a message and returns the status code; a success goes into reply.
func (c v1Client) call(t *testing.T, method, path string, body, reply proto.Message) int {
	t.Helper()
	text := ""
	if body != nil && body.ProtoReflect().IsValid() {
		data, err := protojson.MarshalOptions{UseProtoNames: true, Multiline: true}.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	}
	code, answer, _ := c.send(t, method, path, text)
	var into proto.Message = &spb.Status{}
	if code == http.StatusOK {
		into = reply
	}
	if err := protojson.Unmarshal([]byte(answer), into); err != nil {
		t.Fatalf("%s %s: a strict client cannot read the answer %d: %v\n%s", method, path, code, err, answer)
	}
	if st, ok := into.(*spb.Status); ok && (st.GetCode() == 0 || st.GetMessage() == "") {
		t.Errorf("%s %s: the error %d has no code or no message: %s", method, path, code, answer)
	}
	return code
}

func (c v1Client) want(t *testing.T, want int, method, path string, body, reply proto.Message) {
	t.Helper()
	if reply == nil {
		reply = &kuberay.Status{}
	}
	if got := c.call(t, method, path, body, reply); got != want {
		t.Errorf("%s %s: want %d, got %d", method, path, want, got)
	}
}

// v1World is a gateway and a namespace with a compute template.
type v1World struct {
	v1Client
	*process
	kube      kubernetes.Interface
	namespace string
}

// newV1World starts a gateway that asks nobody who they are.
func newV1World(t *testing.T, edits ...func(*Options)) *v1World {
	t.Helper()
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	p := startProcess(t, env.Config, authn.None, edits...)
	return (&v1World{v1Client: v1Client{base: p.http}, process: p, kube: kube}).in(t, strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")))
}

// in returns the world with another namespace, which has a template.
func (w v1World) in(t *testing.T, namespace string) *v1World {
	t.Helper()
	w.namespace = namespace
	if _, err := w.kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // lists of all namespaces count
		ctx := context.WithoutCancel(t.Context())
		for _, resource := range []string{"rayclusters", "rayjobs", "rayservices"} {
			if err := w.kube.CoreV1().RESTClient().Delete().RequestURI("/apis/ray.io/v1/namespaces/" + namespace + "/" + resource).Do(ctx).Error(); err != nil {
				t.Error(err)
			}
		}
	})
	w.want(t, 200, "POST", w.path("compute_templates"), &kuberay.ComputeTemplate{Name: "default-template", Namespace: namespace, Cpu: 1, Memory: 4}, &kuberay.ComputeTemplate{})
	return &w
}

// path is that of a collection in the namespace, and of what is in it.
func (w *v1World) path(parts ...string) string {
	return "/apis/v1/namespaces/" + w.namespace + "/" + strings.Join(parts, "/")
}

func (w *v1World) spec(edits ...func(*kuberay.ClusterSpec)) *kuberay.ClusterSpec {
	spec := &kuberay.ClusterSpec{
		HeadGroupSpec: &kuberay.HeadGroupSpec{
			ComputeTemplate: "default-template", Image: "rayproject/ray:2.46.0-py310", ServiceType: "NodePort",
			RayStartParams: map[string]string{"dashboard-host": "0.0.0.0", "metrics-export-port": "8080"},
		},
		WorkerGroupSpec: []*kuberay.WorkerGroupSpec{{
			GroupName: "small-wg", ComputeTemplate: "default-template", Image: "rayproject/ray:2.46.0-py310", Replicas: 1, MinReplicas: 1, MaxReplicas: 5,
			RayStartParams: map[string]string{"metrics-export-port": "8080"},
		}},
	}
	for _, edit := range edits {
		edit(spec)
	}
	return spec
}

func (w *v1World) cluster(name string, edits ...func(*kuberay.ClusterSpec)) *kuberay.Cluster {
	return &kuberay.Cluster{Name: name, Namespace: w.namespace, User: "boris", Version: "2.46.0", Environment: kuberay.Cluster_DEV, ClusterSpec: w.spec(edits...)}
}

// withoutEmpty is a spec without environments that are empty: the one difference that there may be between what was sent and what comes back.
func withoutEmpty(spec *kuberay.ClusterSpec) *kuberay.ClusterSpec {
	if spec == nil {
		return nil
	}
	spec = proto.CloneOf(spec)
	if head := spec.GetHeadGroupSpec(); proto.Size(head.GetEnvironment()) == 0 {
		head.Environment = nil
	}
	for _, g := range spec.GetWorkerGroupSpec() {
		if proto.Size(g.GetEnvironment()) == 0 {
			g.Environment = nil
		}
	}
	return spec
}

func TestV1Clusters(t *testing.T) {
	w := newV1World(t)
	good := func(c *kuberay.Cluster) *kuberay.Cluster { return c }
	for name, tc := range map[string]struct {
		path string
		edit func(*kuberay.Cluster) *kuberay.Cluster
		want int
	}{
		"no-volumes": {w.path("clusters"), good, 200},
		"volumes": {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster {
			volumes := []*kuberay.Volume{
				{MountPath: "/home/ray/samples", VolumeType: kuberay.Volume_CONFIGMAP, Name: "code", Source: "code", Items: map[string]string{"a.py": "a.py", "b.py": "b.py"}},
				{MountPath: "/secret", VolumeType: kuberay.Volume_SECRET, Name: "secret", Source: "secret", Items: map[string]string{"a": "b"}},
				{MountPath: "/claim", Name: "claim", Source: "claim", ReadOnly: true},
				{MountPath: "/host", VolumeType: kuberay.Volume_HOST_PATH, Name: "host", Source: "/tmp", HostPathType: kuberay.Volume_FILE, MountPropagationMode: kuberay.Volume_HOSTTOCONTAINER},
				{MountPath: "/new", VolumeType: kuberay.Volume_EPHEMERAL, Name: "new", Storage: "10Gi", StorageClassName: "fast", AccessMode: kuberay.Volume_RWX},
				{MountPath: "/empty", VolumeType: kuberay.Volume_EMPTY_DIR, Name: "empty", Storage: "1Gi"},
			}
			c.ClusterSpec.HeadGroupSpec.Volumes, c.ClusterSpec.WorkerGroupSpec[0].Volumes = volumes, volumes
			return c
		}, 200},
		"no-workers": {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster { c.ClusterSpec.WorkerGroupSpec = nil; return c }, 200},
		"annotations": {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster {
			c.ClusterSpec.HeadServiceAnnotations, c.Version = map[string]string{"foo": "bar"}, ""
			return c
		}, 200},
		"autoscaling": {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster {
			c.ClusterSpec.EnableInTreeAutoscaling = true
			c.ClusterSpec.AutoscalerOptions = &kuberay.AutoscalerOptions{UpscalingMode: "Default", IdleTimeoutSeconds: 30, Cpu: "500m", Memory: "512Mi"}
			c.ClusterSpec.HeadGroupSpec.RayStartParams["num-cpus"] = "0"
			g := c.ClusterSpec.WorkerGroupSpec[0]
			g.Replicas, g.MinReplicas, g.MaxReplicas = 0, 0, 5
			return c
		}, 200},
		"everything": {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster {
			head := c.ClusterSpec.HeadGroupSpec
			head.Environment = &kuberay.EnvironmentVariables{
				Values: map[string]string{"A": "1", "B": "2"},
				ValuesFrom: map[string]*kuberay.EnvValueFrom{
					"C": {Source: kuberay.EnvValueFrom_CONFIGMAP, Name: "config", Key: "key"}, "D": {Source: kuberay.EnvValueFrom_SECRET, Name: "secret", Key: "key"},
					"E": {Source: kuberay.EnvValueFrom_RESOURCEFIELD, Name: "ray-head", Key: "limits.cpu"}, "F": {Source: kuberay.EnvValueFrom_FIELD, Key: "status.hostIP"},
				},
			}
			head.Annotations, head.Labels, head.ServiceAccount, head.ImagePullSecret = map[string]string{"a": "b"}, map[string]string{"c": "d"}, "account", "pull"
			head.ImagePullPolicy, head.EnableIngress = "Always", true
			head.SecurityContext = &kuberay.SecurityContext{Privileged: new(false), Capabilities: &kuberay.Capabilities{Add: []string{"SYS_PTRACE"}, Drop: []string{"ALL"}}}
			return c
		}, 200},
		"default-image": {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster {
			c.ClusterSpec.HeadGroupSpec.Image, c.ClusterSpec.WorkerGroupSpec[0].Image = "", ""
			return c
		}, 200},
		"no-namespace-in-path": {"/apis/v1/namespaces//clusters", good, 404},
		"nil":                  {w.path("clusters"), func(*kuberay.Cluster) *kuberay.Cluster { return nil }, 400},
		"no-namespace":         {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster { c.Namespace = ""; return c }, 400},
		"other-namespace":      {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster { c.Namespace = "default"; return c }, 400},
		"no-name":              {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster { c.Name = ""; return c }, 400},
		"no-user":              {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster { c.User = ""; return c }, 400},
		"no-spec":              {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster { c.ClusterSpec = nil; return c }, 400},
		"no-head":              {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster { c.ClusterSpec.HeadGroupSpec = nil; return c }, 400},
		"no-head-template":     {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster { c.ClusterSpec.HeadGroupSpec.ComputeTemplate = ""; return c }, 400},
		"no-start-params":      {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster { c.ClusterSpec.HeadGroupSpec.RayStartParams = nil; return c }, 400},
		"no-group-name":        {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster { c.ClusterSpec.WorkerGroupSpec[0].GroupName = ""; return c }, 400},
		"no-group-template": {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster {
			c.ClusterSpec.WorkerGroupSpec[0].ComputeTemplate = ""
			return c
		}, 400},
		"no-replicas": {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster {
			c.ClusterSpec.WorkerGroupSpec[0].Replicas, c.ClusterSpec.WorkerGroupSpec[0].MaxReplicas, c.ClusterSpec.WorkerGroupSpec[0].MinReplicas = 0, 0, 0
			return c
		}, 400},
		"unknown-template": {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster {
			c.ClusterSpec.HeadGroupSpec.ComputeTemplate = "other"
			return c
		}, 400},
		"no-image": {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster {
			c.ClusterSpec.HeadGroupSpec.Image, c.Version = "", ""
			return c
		}, 400},
		"bad-quantity": {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster {
			c.ClusterSpec.HeadGroupSpec.Volumes = []*kuberay.Volume{{Name: "v", MountPath: "/v", VolumeType: kuberay.Volume_EPHEMERAL}}
			return c
		}, 400},
		"bad-pull-policy": {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster {
			c.ClusterSpec.HeadGroupSpec.ImagePullPolicy = "always"
			return c
		}, 400},
		"refused by rules": {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster { c.Name = "Not_A_Name"; return c }, 400},
		"user with an @":   {w.path("clusters"), func(c *kuberay.Cluster) *kuberay.Cluster { c.Name, c.User = "mail", "jane.doe@example.org"; return c }, 200},
	} {
		t.Run(name, func(t *testing.T) {
			sent, got := tc.edit(w.cluster(name)), &kuberay.Cluster{}
			w.want(t, tc.want, "POST", tc.path, sent, got)
			if tc.want != 200 {
				return
			}
			for _, from := range []string{"create", "get"} {
				if diff := cmp.Diff(sent.GetClusterSpec(), withoutEmpty(got.GetClusterSpec()), protocmp.Transform()); diff != "" {
					t.Errorf("spec from %s (-sent +got):\n%s", from, diff)
				}
				if got.GetUser() != sent.GetUser() || got.GetVersion() != sent.GetVersion() || got.GetCreatedAt() == nil || got.GetAnnotations()["ray.io/creation-timestamp"] == "" {
					t.Errorf("from %s: %v", from, got)
				}
				w.want(t, 200, "GET", w.path("clusters", sent.GetName()), nil, got)
			}
			w.want(t, 409, "POST", tc.path, sent, nil)
		})
	}
	t.Run("get and delete", func(t *testing.T) {
		w.want(t, 404, "GET", w.path("clusters", "bogus"), nil, nil)
		w.want(t, 400, "GET", w.path("clusters", ""), nil, nil)
		w.want(t, 404, "GET", "/apis/v1/namespaces//clusters/no-volumes", nil, nil)
		w.want(t, 404, "DELETE", w.path("clusters", "bogus"), nil, nil)
		w.want(t, 400, "DELETE", w.path("clusters", ""), nil, nil)
		w.want(t, 404, "DELETE", "/apis/v1/namespaces//clusters/no-volumes", nil, nil)
		w.want(t, 200, "DELETE", w.path("clusters", "no-volumes"), nil, nil)
		w.want(t, 404, "GET", w.path("clusters", "no-volumes"), nil, nil)
	})
}
