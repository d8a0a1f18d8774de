package realray

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
)

// settle bounds every wait. A Ray node takes twenty seconds of CPU to start: no test depends on speed.
const settle = 6 * time.Minute

// world is the namespace of a test.
type world struct {
	t  *testing.T
	ns string
}

// newWorld makes a namespace with the programs of testdata. It takes its Pods along, so that the tests after it have the machine.
func newWorld(t *testing.T) *world {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "ray-"}}
	if err := product.client.Create(t.Context(), ns); err != nil {
		t.Fatalf("creating namespace: %v", err)
	}
	w := &world{t: t, ns: ns.Name}
	t.Cleanup(func() {
		if t.Failed() {
			w.explain()
		}
		w.destroy(ns)
	})
	scripts := map[string]string{}
	files, err := filepath.Glob("testdata/*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs in testdata: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scripts[filepath.Base(file)] = string(data)
	}
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "scripts", Namespace: w.ns}, Data: scripts})
	return w
}

// run runs a part of a test in its namespace. It reports whether the part passed.
func (w *world) run(name string, f func(w *world)) bool {
	w.t.Helper()
	return w.t.Run(name, func(t *testing.T) { f(&world{t: t, ns: w.ns}) })
}

// destroy deletes the namespace and waits until its Pods are gone. Ray objects go first: their finalizers need their namespace.
func (w *world) destroy(ns *corev1.Namespace) {
	ctx, cancel := context.WithTimeout(context.Background(), settle)
	defer cancel()
	for _, object := range []client.Object{&rayv1.RayCronJob{}, &rayv1.RayService{}, &rayv1.RayJob{}, &rayv1.RayCluster{}} {
		if err := product.client.DeleteAllOf(ctx, object, client.InNamespace(w.ns)); err != nil {
			w.t.Errorf("cleaning up: %v", err)
		}
	}
	if err := product.client.Delete(ctx, ns); err != nil {
		w.t.Errorf("cleaning up: %v", err)
	}
	for ctx.Err() == nil {
		if err := product.client.Get(ctx, client.ObjectKeyFromObject(ns), ns); apierrors.IsNotFound(err) {
			return
		}
		time.Sleep(time.Second)
	}
	w.t.Errorf("namespace %s is not gone after %s", w.ns, settle)
}

// explain logs what there is, for a test that has failed.
func (w *world) explain() {
	for _, args := range [][]string{
		{"get", "rayclusters,rayjobs,rayservices,pods,services", "-o", "wide"},
		{"get", "events", "--sort-by=.lastTimestamp"},
	} {
		out, _ := w.tryKubectl(context.Background(), args...)
		w.t.Logf("kubectl %s:\n%s", strings.Join(args, " "), out)
	}
	pods, err := product.kube.CoreV1().Pods(w.ns).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range pods.Items {
		out, _ := w.tryKubectl(context.Background(), "logs", pods.Items[i].Name, "--all-containers", "--prefix", "--tail=25")
		w.t.Logf("log of %s:\n%s", pods.Items[i].Name, out)
	}
}

func (w *world) create(object client.Object) {
	w.t.Helper()
	if err := product.client.Create(w.t.Context(), object); err != nil {
		w.t.Fatalf("creating %T: %v", object, err)
	}
}

// update changes an object, again after conflicts.
func (w *world) update(object client.Object, change func()) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%T %s is changed", object, object.GetName()), func(ctx context.Context) error {
		if err := product.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change()
		return product.client.Update(ctx, object)
	})
}

// eventually waits until check returns nil, and says how long it took.
func (w *world) eventually(what string, check func(context.Context) error) {
	w.t.Helper()
	begin := time.Now()
	var err error
	for time.Since(begin) < settle {
		if err = check(w.t.Context()); err == nil {
			if took := time.Since(begin); took > 2*time.Second {
				w.t.Logf("%s: after %s", what, took.Round(time.Second))
			}
			return
		}
		time.Sleep(300 * time.Millisecond)
	}
	w.t.Fatalf("%s: still not so after %s: %v", what, settle, err)
}

func (w *world) tryKubectl(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	cmd := exec.CommandContext(ctx, programs.Binary("k8s/kubectl"), append([]string{"--kubeconfig", product.kubeconfig, "--namespace", w.ns}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String(), err
}

func (w *world) kubectl(args ...string) string {
	w.t.Helper()
	out, err := w.tryKubectl(w.t.Context(), args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// exec runs a command in the Ray container of a Pod.
func (w *world) exec(pod string, command ...string) (string, error) {
	return w.tryKubectl(w.t.Context(), append([]string{"exec", pod, "--"}, command...)...)
}

// pods are those of a cluster and a kind that are not being deleted, by name.
func (w *world) pods(cluster string, kind rayv1.RayNodeType) []corev1.Pod {
	w.t.Helper()
	list := &corev1.PodList{}
	err := product.client.List(w.t.Context(), list, client.InNamespace(w.ns), client.MatchingLabels{rayv1.LabelCluster: cluster, rayv1.LabelNodeType: string(kind)})
	if err != nil {
		w.t.Fatal(err)
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

func (w *world) head(cluster string) *corev1.Pod {
	w.t.Helper()
	pods := w.pods(cluster, rayv1.HeadNode)
	if len(pods) != 1 {
		w.t.Fatalf("%d heads of %s", len(pods), cluster)
	}
	return &pods[0]
}

// reply is an answer of the gateway, or of whatever else speaks HTTP.
type reply struct {
	code   int
	header http.Header
	body   []byte
}

// gateway sends a request to the gateway and demands success. While the gateway cannot reach a dashboard it says so, with 503, and is asked
// again, as its clients do; what was accepted by then is there already.
func (w *world) gateway(method, path string, body any) reply {
	w.t.Helper()
	var r reply
	again := false
	w.eventually(method+" "+path, func(ctx context.Context) (err error) {
		r, err = send(ctx, method, product.rest+"/apis/v2/namespaces/"+w.ns+path, body)
		if err == nil && (r.code == http.StatusServiceUnavailable || r.code == http.StatusGatewayTimeout) {
			err = fmt.Errorf("HTTP %d: %s", r.code, r.body)
		}
		again = again || err != nil
		return err
	})
	if r.code/100 != 2 && !(again && method == http.MethodPost && r.code == http.StatusConflict) {
		w.t.Fatalf("%s %s: HTTP %d: %s", method, path, r.code, r.body)
	}
	return r
}

// send sends a request; a body is text as it is, or anything else as JSON. Header lines may follow, as "Name: value".
func send(ctx context.Context, method, url string, body any, header ...string) (reply, error) {
	var data []byte
	switch b := body.(type) {
	case nil:
	case string:
		data = []byte(b)
	default:
		var err error
		if data, err = json.Marshal(b); err != nil {
			return reply{}, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(data))
	if err != nil {
		return reply{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, text}, err
}

var errNotYet = errors.New("not yet")
