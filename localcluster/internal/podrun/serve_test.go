package podrun

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/localcluster/internal/podnet"
	"github.com/raygate/raygate/localcluster/internal/servesim"
)

// pods are those of a cluster; the test changes them.
type pods struct {
	mu   sync.Mutex
	list []*corev1.Pod
}

func (p *pods) of(types.NamespacedName) []*corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*corev1.Pod(nil), p.list...)
}

func (p *pods) set(list ...*corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = list
}

func rayPod(name, nodeType string, env ...corev1.EnvVar) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID(name), Labels: map[string]string{labelCluster: "c", labelNodeType: nodeType}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "ray", Env: env, Ports: []corev1.ContainerPort{{Name: servePortName, ContainerPort: 9000}},
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"wget http://localhost:9000/-/healthz"}}}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.244.0.9"},
	}
}

// request sends one to a port of a Pod.
func request(t *testing.T, r *Runtime, p *corev1.Pod, port uint16, method, path, body string) (int, string, error) {
	t.Helper()
	client := http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			endpoint, err := r.Endpoint(ctx, p, port)
			if err != nil {
				return nil, err
			}
			here, there := net.Pipe()
			go endpoint(there)
			return here, nil
		},
	}}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://pod"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// eventually waits for something that the simulator does by itself.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("waited in vain for: " + what)
		}
	}
}

const serveConfig = `{"applications":[{"name":"a","route_prefix":"/a","import_path":"m:app","deployments":[{"name":"A"}]}]}`

func TestServe(t *testing.T) {
	for name, tc := range map[string]struct {
		env  []corev1.EnvVar
		kept bool
	}{
		"state in memory":    {},
		"state in a storage": {env: []corev1.EnvVar{{Name: storageVariable, Value: "s"}}, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			head, worker := rayPod("h", headNode, tc.env...), rayPod("w", "worker")
			r := testRuntime(t, head)
			all := &pods{}
			all.set(head, worker)
			r.opts.Pods = all.of
			if r.Ready(worker) {
				t.Error("a worker is ready before Serve runs")
			}
			if _, _, err := request(t, r, worker, 9000, "GET", "/a", ""); !errors.Is(err, podnet.ErrRefused) {
				t.Errorf("before Serve runs: %v", err)
			}
			if code, text, err := request(t, r, head, 8265, "PUT", servesim.Path, serveConfig); code != 200 || err != nil {
				t.Fatalf("PUT: %d %s %v", code, text, err)
			}
			eventually(t, "the worker to be ready", func() bool { return r.Ready(worker) })
			if code, text, err := request(t, r, worker, 9000, "GET", "/a", ""); code != 200 || err != nil {
				t.Fatalf("route: %d %s %v", code, text, err)
			}

			// The head goes, and another one comes.
			all.set(worker)
			r.Forget(head.UID)
			eventually(t, "the loss of the head to show", func() bool { return r.Ready(worker) == tc.kept })
			next := rayPod("h2", headNode, tc.env...)
			if _, err := r.opts.Client.CoreV1().Pods("ml").Create(t.Context(), next, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			all.set(next, worker)
			code, text, err := request(t, r, next, 8265, "GET", servesim.Path, "")
			if code != 200 || err != nil || strings.Contains(text, "RUNNING") != tc.kept {
				t.Errorf("the new head: %d %s %v", code, text, err)
			}
		})
	}
}

func TestProbesServe(t *testing.T) {
	for path, want := range map[string]bool{"/-/healthz": true, "/api/healthz": false} {
		probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path}}}
		if got := ProbesServe(corev1.Container{ReadinessProbe: probe}); got != want {
			t.Errorf("%s: want %t, got %t", path, want, got)
		}
	}
	if ProbesServe(corev1.Container{}) {
		t.Error("without a probe")
	}
}

func TestHookTime(t *testing.T) {
	sleep := func(h corev1.LifecycleHandler) corev1.Container {
		return corev1.Container{Lifecycle: &corev1.Lifecycle{PreStop: &h}}
	}
	exec := func(command ...string) corev1.Container {
		return sleep(corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: command}})
	}
	for name, tc := range map[string]struct {
		container corev1.Container
		want      time.Duration
	}{
		"no hook":      {corev1.Container{}, 0},
		"only a start": {corev1.Container{Lifecycle: &corev1.Lifecycle{}}, 0},
		"sleep":        {sleep(corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 3}}), 3 * time.Second},
		"command":      {exec("sleep", "5"), 5 * time.Second},
		"shell":        {exec("bash", "-c", "sleep 7; ray stop"), 7 * time.Second},
		"another":      {exec("ray", "stop"), 0},
	} {
		if got := HookTime(tc.container); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestServeDrains: a Pod that is deleted answers those who are on their way while its preStop hook sleeps, and its replica goes elsewhere.
func TestServeDrains(t *testing.T) {
	head, first, second := rayPod("h", headNode), rayPod("w1", "worker"), rayPod("w2", "worker")
	const drains = 2 * time.Second
	first.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: int64(drains.Seconds())}}}
	r := testRuntime(t, head)
	all := &pods{}
	all.set(head, first)
	r.opts.Pods = all.of
	if code, text, err := request(t, r, head, 8265, "PUT", servesim.Path, serveConfig); code != 200 || err != nil {
		t.Fatalf("PUT: %d %s %v", code, text, err)
	}
	eventually(t, "the worker to be ready", func() bool { return r.Ready(first) })
	if r.Ready(second) {
		t.Error("a worker without replica is ready")
	}
	leaving := first.DeepCopy()
	leaving.DeletionTimestamp = new(metav1.Now())
	all.set(head, leaving, second)
	begin := time.Now()
	if r.Stop(leaving, 30*time.Second) {
		t.Fatal("the Pod has gone at once")
	}
	for ended := false; !ended; ended = r.Stop(leaving, 30*time.Second) {
		code, text, err := request(t, r, leaving, 9000, "GET", "/a", "")
		if err == nil && code != 200 || err != nil && time.Since(begin) < drains {
			t.Errorf("while it goes: %d %s %v", code, text, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if r.Ready(leaving) {
		t.Error("a Pod that leaves is ready")
	}
	eventually(t, "the other worker to be ready", func() bool { return r.Ready(second) })
}

// TestServeCrash: a Pod that is killed refuses connections at once, its node sees that later, and its replica goes elsewhere.
func TestServeCrash(t *testing.T) {
	head, first, second := rayPod("h", headNode), rayPod("w1", "worker"), rayPod("w2", "worker")
	r := testRuntime(t, head)
	all := &pods{}
	all.set(head, first)
	r.opts.Pods = all.of
	if code, text, err := request(t, r, head, 8265, "PUT", servesim.Path, serveConfig); code != 200 || err != nil {
		t.Fatalf("PUT: %d %s %v", code, text, err)
	}
	eventually(t, "the worker to be ready", func() bool { return r.Ready(first) })
	if code, text, err := request(t, r, first, 9000, "GET", "/a", ""); code != 200 || err != nil {
		t.Fatalf("route: %d %s %v", code, text, err)
	}
	all.set(head, first, second)
	if r.Crash(first) {
		t.Error("its node has noticed at once")
	}
	eventually(t, "connections to be refused", func() bool {
		_, _, err := request(t, r, first, 9000, "GET", "/a", "")
		return errors.Is(err, podnet.ErrRefused)
	})
	if r.Ready(first) {
		t.Error("a Pod without processes is ready")
	}
	eventually(t, "the other worker to be ready", func() bool { return r.Ready(second) })
	eventually(t, "its node to notice", func() bool { return r.Crash(first) })
	if !r.Crash(rayPod("unknown", "worker")) {
		t.Error("a Pod of which nothing is real lives on")
	}
}
