package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/raygate/raygate/cmd/raygate/internal/cli"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/test/controlplane"
)

// The built gateway on a real control plane. There is no operator: the tests set what statuses say.
var controlPlane = controlplane.Share(controlplane.Options{Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }

// gateway is a running gateway and what looks at it from the side.
type gateway struct {
	env     *controlplane.Env
	program *programs.Program
	address string
	dynamic dynamic.Interface
	kube    kubernetes.Interface
}

func startGateway(t *testing.T, authentication string) *gateway {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	ports, err := programs.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	g := &gateway{env: controlPlane.Env(t), address: at(0)}
	g.program = &programs.Program{
		Path: programs.Binary("raygate-apiserver"), Log: filepath.Join(t.TempDir(), "gateway.log"), Ready: "http://" + at(1) + "/readyz",
		Args: []string{"--kubeconfig", g.env.Kubeconfig, "--authentication=" + authentication, "--grpc-address=" + at(0), "--http-address=" + at(1), "--metrics-address=" + at(2)},
	}
	if err := g.program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.program.Stop)
	if g.dynamic, err = dynamic.NewForConfig(g.env.Config); err != nil {
		t.Fatal(err)
	}
	if g.kube, err = kubernetes.NewForConfig(g.env.Config); err != nil {
		t.Fatal(err)
	}
	// Nothing of this machine's user plays a part.
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("RAYGATE_SERVER", g.address)
	for _, name := range []string{"RAYGATE_TOKEN", "RAYGATE_TOKEN_FILE", "RAYGATE_CERTIFICATE_AUTHORITY"} {
		t.Setenv(name, "")
	}
	return g
}

// namespace makes one and returns its name.
func (g *gateway) namespace(t *testing.T) string {
	t.Helper()
	ns, err := g.kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "cli-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// of returns the objects of a kind, past the gateway.
func (g *gateway) of(plural, namespace string) dynamic.ResourceInterface {
	return g.dynamic.Resource(schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: plural}).Namespace(namespace)
}

// setStatus does the operator's work, and returns when the gateway shows it.
func (g *gateway) setStatus(t *testing.T, plural, namespace, name string, status map[string]any) {
	t.Helper()
	client, written := g.of(plural, namespace), ""
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := client.Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		object.Object["status"] = status
		if object, err = client.UpdateStatus(context.Background(), object, metav1.UpdateOptions{}); err == nil {
			written = object.GetResourceVersion()
		}
		return err
	})
	if err != nil {
		t.Fatalf("setting the status of %s: %v", name, err)
	}
	get := []string{"get", strings.TrimSuffix(plural, "s") + "/" + name, "-n", namespace, "-o", "json"}
	await.True(t, "the gateway to show the status of "+name, func() bool { return strings.Contains(raygate(get...).out, `"`+written+`"`) })
}

// result is what a command said.
type result struct {
	code        int
	out, errOut string
}

func raygate(args ...string) result { return raygateWith("", args...) }

func raygateWith(stdin string, args ...string) result {
	var out, errOut bytes.Buffer
	code := cli.Run(args, strings.NewReader(stdin), &out, &errOut)
	return result{code, out.String(), errOut.String()}
}

// startWith runs a command beside the test, which reads what it says, and waits for its end.
func startWith(stdin string, args ...string) (said *syncBuffer, end func() result) {
	said, ended := &syncBuffer{}, make(chan int, 1)
	go func() { ended <- cli.Run(args, strings.NewReader(stdin), said, said) }()
	return said, func() result { return result{code: <-ended, out: said.String()} }
}

// want fails the test unless the command ended so and said all the texts.
func (r result) want(t *testing.T, code int, texts ...string) result {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\n%s%s", r.code, code, r.out, r.errOut)
	}
	for _, text := range texts {
		if !strings.Contains(r.out+r.errOut, text) {
			t.Errorf("%q is not in:\n%s%s", text, r.out, r.errOut)
		}
	}
	return r
}

func (r result) json(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(r.out), &u.Object); err != nil {
		t.Fatalf("%v in:\n%s%s", err, r.out, r.errOut)
	}
	return u
}

func manifest(name string) string {
	return `apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ` + name + `, labels: {team: a}}
spec:
  rayVersion: "2.52.0"
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: ray-head, image: "rayproject/ray:2.52.0", resources: {limits: {cpu: "1", memory: 1Gi}}}]}}
  workerGroupSpecs:
  - groupName: cpu
    replicas: 2
    minReplicas: 0
    maxReplicas: 10
    template: {spec: {containers: [{name: ray-worker, image: "rayproject/ray:2.52.0", resources: {limits: {cpu: "1", memory: 1Gi}}}]}}
`
}

// syncBuffer is written by a command while a test reads it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}
func (s *syncBuffer) String() string { s.mu.Lock(); defer s.mu.Unlock(); return s.b.String() }

func (s *syncBuffer) eventually(t *testing.T, what string, times int) {
	t.Helper()
	await.NoError(t, fmt.Sprintf("%q %d times", what, times), func() error {
		if text := s.String(); strings.Count(text, what) < times {
			return fmt.Errorf("the output is\n%s", text)
		}
		return nil
	})
}
