package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster is a control plane with simulated nodes, run by the built program.
type cluster struct {
	dir, bin string
	cmd      *exec.Cmd
	out      *bytes.Buffer
	cfg      *rest.Config
	client   *kubernetes.Clientset
	ended    chan struct{} // closed when the program has ended
}

// startCluster needs what `make localcluster` builds.
func startCluster(t *testing.T, dir string) *cluster {
	t.Helper()
	bin, err := filepath.Abs("../../../bin")
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{dir: dir, bin: bin, out: &bytes.Buffer{}, ended: make(chan struct{})}
	_ = os.Remove(filepath.Join(dir, "ready"))
	c.cmd = exec.Command(filepath.Join(bin, "raygate-local"), "control-plane", "--dir", dir, "--nodes=1", "--exit-with-parent")
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	if err := c.cmd.Start(); err != nil {
		t.Fatalf("%v; run: make localcluster", err)
	}
	go func() {
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		<-c.ended
		if t.Failed() {
			t.Logf("the cluster said:\n%s", c.out)
		}
	})
	var r ready
	within(t, "control plane", func() bool {
		select {
		case <-c.ended:
			t.Fatalf("the control plane ended:\n%s", c.out)
		default:
		}
		data, err := os.ReadFile(filepath.Join(dir, "ready"))
		return err == nil && json.Unmarshal(data, &r) == nil
	})
	if c.cfg, err = clientcmd.BuildConfigFromFlags("", r.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	c.cfg.QPS = -1
	if c.client, err = kubernetes.NewForConfig(c.cfg); err != nil {
		t.Fatal(err)
	}
	return c
}

// patience is the limit of every wait for something that happens soon on a machine without other load.
const patience = 10 * time.Minute

func within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out: %s", what)
		}
	}
}

func (c *cluster) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "k8s", "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(c.dir, "kubeconfig"))
	return cmd
}

// kubectl returns the output and the exit code.
func (c *cluster) kubectl(t *testing.T, stdin string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := c.command(ctx, args...)
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (c *cluster) create(t *testing.T, p *corev1.Pod) {
	t.Helper()
	if _, err := c.client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) pod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	p, err := c.client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// phase waits for a phase of a Pod.
func (c *cluster) phase(t *testing.T, name string, want corev1.PodPhase) *corev1.Pod {
	t.Helper()
	var p *corev1.Pod
	within(t, "Pod "+name+" becomes "+string(want), func() bool {
		p = c.pod(t, name)
		return p.Status.Phase == want
	})
	return p
}

// head makes a head Pod and its Service, both of this name, and waits until the Service leads there.
func (c *cluster) head(t *testing.T, name string, change func(*corev1.Pod)) {
	t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"ray.io/node-type": "head", "app": name}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "ray-head", Image: "rayproject/ray:2.52.0", Ports: []corev1.ContainerPort{{Name: "dashboard", ContainerPort: 8265}},
			}},
		},
	}
	if change != nil {
		change(p)
	}
	c.create(t, p)
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app": name}, PublishNotReadyAddresses: true,
			Ports: []corev1.ServicePort{{Name: "dashboard", Port: 8265, TargetPort: intstr.FromString("dashboard")}},
		},
	}
	if _, err := c.client.CoreV1().Services("default").Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.phase(t, name, corev1.PodRunning)
	within(t, "Service "+name+" leads to its head", func() bool {
		body, err := c.proxy(t, "GET", name, "/api/gcs_healthz", "")
		return err == nil && body == "success"
	})
	// The API server's proxy reads Endpoints, Pods are led by EndpointSlices: two controllers write them.
	within(t, "Service "+name+" leads Pods to its head", func() bool {
		slices, err := c.client.DiscoveryV1().EndpointSlices("default").List(t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + name})
		return err == nil && len(slices.Items) == 1 && len(slices.Items[0].Endpoints) == 1
	})
}

// proxy sends a request through the Service proxy of the API server.
func (c *cluster) proxy(t *testing.T, method, service, path, body string) (string, error) {
	t.Helper()
	// Not by Suffix, which would drop the slash at the end that the dashboard wants.
	r := c.client.CoreV1().RESTClient().Verb(method).RequestURI("/api/v1/namespaces/default/services/" + service + ":dashboard/proxy" + path)
	if body != "" {
		r = r.Body([]byte(body)).SetHeader("Content-Type", "application/json")
	}
	data, err := r.DoRaw(t.Context())
	return string(data), err
}

// submitter is a Pod whose container runs a script by bash.
func submitter(name, script string, policy corev1.RestartPolicy) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: policy, TerminationGracePeriodSeconds: new(int64(2)),
			Containers: []corev1.Container{{
				Name: "ray-job-submitter", Image: "rayproject/ray:2.52.0", Command: []string{"/bin/bash", "-ce", "--"}, Args: []string{script},
			}},
		},
	}
}
