package realray

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// serveConfig serves the application of testdata, in these words.
func serveConfig(words string) string {
	return fmt.Sprintf(`applications:
- name: hello
  import_path: hello_serve:app
  route_prefix: /
  deployments:
  - name: Hello
    user_config: {words: %q}
`, words)
}

// said is an answer of the application.
type said struct{ Words, Release string }

// A RayService goes to another cluster, with a changed environment, and to another configuration in place, while requests come all the time.
// None fails.
func TestCoreServiceSwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := clusterSpec(1)
	release(&spec, "one")
	svc := &rayv1.RayService{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: w.ns},
		Spec: rayv1.RayServiceSpec{
			RayClusterSpec: spec, ServeConfigV2: serveConfig("good morning"), RayClusterDeletionDelaySeconds: new(int32(20)),
		},
	}
	w.create(svc)
	first := w.serviceReady(svc)
	url := w.serviceURL("demo-serve-svc")
	load := w.load(url)
	// Right after it was made, kube-proxy does not know the way yet.
	load.waitFor(w, said{"good morning", "one"})
	load.forgive()

	w.run("configuration in place", func(w *world) {
		w.update(svc, func() { svc.Spec.ServeConfigV2 = serveConfig("good evening") })
		load.waitFor(w, said{"good evening", "one"})
		if now := w.serviceReady(svc); now != first {
			w.t.Errorf("a change of the configuration made cluster %s of %s", now, first)
		}
	})
	w.run("another cluster", func(w *world) {
		w.update(svc, func() { release(&svc.Spec.RayClusterSpec, "two") })
		load.waitFor(w, said{"good evening", "two"})
		w.oldClusterGone(first)
	})
	good, failures := load.stop()
	t.Logf("%d requests were answered", good)
	for _, failure := range failures {
		t.Errorf("a request failed: %s", failure)
	}
}

// oldClusterGone waits until a cluster that was replaced is gone, and lets requests go on for a moment to what is left.
func (w *world) oldClusterGone(name string) {
	w.t.Helper()
	w.eventually("the old cluster is gone", func(ctx context.Context) error {
		err := product.client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name}, &rayv1.RayCluster{})
		if client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("RayCluster %s: %w", name, errors.Join(err, errNotYet))
		}
		return nil
	})
	time.Sleep(3 * time.Second)
}

// release sets the variable that applications answer with.
func release(spec *rayv1.RayClusterSpec, value string) {
	for _, c := range []*corev1.Container{&spec.HeadGroupSpec.Template.Spec.Containers[0], &spec.WorkerGroupSpecs[0].Template.Spec.Containers[0]} {
		env := c.Env[:0:0]
		for _, v := range c.Env {
			if v.Name != "RELEASE" {
				env = append(env, v)
			}
		}
		c.Env = append(env, corev1.EnvVar{Name: "RELEASE", Value: value})
	}
}

// serviceReady waits until a service is ready and no upgrade is in progress, and returns its cluster.
func (w *world) serviceReady(svc *rayv1.RayService) string {
	w.t.Helper()
	w.eventually("RayService "+svc.Name+" is ready", func(ctx context.Context) error {
		if err := product.client.Get(ctx, client.ObjectKeyFromObject(svc), svc); err != nil {
			return err
		}
		st := &svc.Status
		upgrading := meta.IsStatusConditionTrue(st.Conditions, rayv1.RayServiceUpgradeInProgress)
		if !meta.IsStatusConditionTrue(st.Conditions, rayv1.RayServiceReady) || upgrading || st.ObservedGeneration != svc.Generation {
			text, err := json.Marshal(st.Conditions)
			return errors.Join(errNotYet, err, errors.New(string(text)))
		}
		return nil
	})
	return svc.Status.ActiveServiceStatus.RayClusterName
}

// serviceURL is that of the address of a Service, which kube-proxy leads to its Pods from this machine as well.
func (w *world) serviceURL(name string) string {
	w.t.Helper()
	s := &corev1.Service{}
	if err := product.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.ns, Name: name}, s); err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprintf("http://%s:8000/", s.Spec.ClusterIP)
}

// maxConnectionAge is shorter than rayClusterDeletionDelaySeconds of the test: kube-proxy leaves a connection with the Pod that it was
// made to, and Ray Serve closes none before its node ends.
const maxConnectionAge = 5 * time.Second

// load sends requests one after the other until it is stopped: on a new connection each time, and on connections that are kept for a while.
type load struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu       sync.Mutex
	answers  map[said]int // since take
	all      map[said]int
	failures []string
}

func (w *world) load(url string) *load {
	var asks []func(context.Context) (said, error)
	for _, keepAlive := range []bool{true, false} {
		h := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: !keepAlive}}
		made := time.Now()
		asks = append(asks, func(ctx context.Context) (said, error) {
			if time.Since(made) > maxConnectionAge {
				h.CloseIdleConnections()
				made = time.Now()
			}
			return ask(ctx, h, url)
		})
	}
	return w.loadBy(asks...)
}

// loadBy sends requests by each of the functions, beside each other.
func (w *world) loadBy(asks ...func(context.Context) (said, error)) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel, answers: map[said]int{}, all: map[said]int{}}
	w.t.Cleanup(func() { l.stop() })
	for _, ask := range asks {
		l.done.Go(func() {
			for ctx.Err() == nil {
				answer, err := ask(ctx)
				if ctx.Err() != nil {
					return
				}
				l.record(answer, err)
				time.Sleep(30 * time.Millisecond)
			}
		})
	}
	return l
}

func ask(ctx context.Context, h *http.Client, url string) (said, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return said{}, err
	}
	resp, err := h.Do(req)
	if err != nil {
		return said{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return said{}, err
	}
	var answer said
	if resp.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("HTTP %d: %s", resp.StatusCode, body)
	}
	return answer, json.Unmarshal(body, &answer)
}

func (l *load) record(answer said, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.answers[answer]++
		l.all[answer]++
		return
	}
	if len(l.failures) < 20 {
		l.failures = append(l.failures, time.Now().Format(time.TimeOnly)+" "+err.Error())
	}
}

// waitFor waits until this answer has come, and none but this for a second.
func (l *load) waitFor(w *world, want said) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%+v is answered", want), func(context.Context) error {
		l.take()
		time.Sleep(time.Second)
		if got := l.take(); len(got) != 1 || got[want] == 0 {
			return fmt.Errorf("answers %+v", got)
		}
		return nil
	})
}

// forgive forgets the failures so far.
func (l *load) forgive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = nil
}

// take is how often each answer came since the last call.
func (l *load) take() map[said]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	got := maps.Clone(l.answers)
	clear(l.answers)
	return got
}

// total is how often each answer came.
func (l *load) total() map[said]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.all)
}

func (l *load) stop() (good int, failures []string) {
	l.cancel()
	l.done.Wait()
	for _, n := range l.all {
		good += n
	}
	return good, l.failures
}
