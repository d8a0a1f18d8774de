package raycluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/gang/registry"
	"github.com/raygate/raygate/test/controlplane"
)

var (
	volcanoGroup = schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "PodGroup"}
	pluginsGroup = schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "PodGroup"}
)

func withScheduler(s gang.Scheduler) func(*Config) { return func(c *Config) { c.Scheduler = s } }

func batchScheduler(name string) func(*Config) { return withScheduler(registry.Find(name)) }

// shiftedClock is a clock that can be put forward.
type shiftedClock struct {
	clock.RealClock
	shift atomic.Int64
}

func (c *shiftedClock) Now() time.Time                  { return c.RealClock.Now().Add(time.Duration(c.shift.Load())) }
func (c *shiftedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// install makes a scheduler's API served until the end of the test.
func (w *world) install(name string) {
	w.T.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "schedulers", name+".yaml"))
	if err != nil {
		w.T.Fatal(err)
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(data, &crd.Object); err != nil {
		w.T.Fatal(err)
	}
	w.Create(crd)
	w.T.Cleanup(func() {
		ctx := context.WithoutCancel(w.T.Context())
		if err := w.Client.Delete(ctx, crd); err != nil {
			w.T.Error(err)
		}
		w.Eventually("the end of "+crd.GetName(), func() bool {
			return apierrors.IsNotFound(w.Client.Get(ctx, client.ObjectKeyFromObject(crd), crd.DeepCopy()))
		})
	})
	w.Eventually(crd.GetName()+" to be served", func() bool {
		served := crd.DeepCopy()
		if err := w.Client.Get(w.T.Context(), client.ObjectKeyFromObject(crd), served); err != nil {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(served.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(c any) bool {
			m, ok := c.(map[string]any)
			return ok && m["type"] == "Established" && m["status"] == "True"
		})
	})
}

// foreign returns an object of a scheduler, nil if there is none.
func (w *world) foreign(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	w.T.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	err := w.Client.Get(context.WithoutCancel(w.T.Context()), client.ObjectKey{Namespace: w.Namespace, Name: name}, u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.T.Fatal(err)
	}
	return u
}

// eventuallyNumber waits until a number stands in an object of a scheduler.
func (w *world) eventuallyNumber(kind schema.GroupVersionKind, name string, want int64, path ...string) *unstructured.Unstructured {
	w.T.Helper()
	var u *unstructured.Unstructured
	w.Eventually(fmt.Sprintf("%s %s of %d in %s", kind.Kind, name, want, strings.Join(path, ".")), func() bool {
		if u = w.foreign(kind, name); u == nil {
			return false
		}
		got, _, _ := unstructured.NestedInt64(u.Object, path...)
		return got == want
	})
	return u
}

// startAPIServer starts one more API server on the data of the control plane, with features that it lacks. It is seen by
// the world that is returned.
func (w *world) startAPIServer(flags ...string) *world {
	w.T.Helper()
	env := controlPlane.Env(w.T)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.T.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	pki := filepath.Join(env.Dir, "pki")
	log, err := os.Create(filepath.Join(w.T.TempDir(), "apiserver.log"))
	if err != nil {
		w.T.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(repositoryRoot(w.T), "bin", "k8s", "kube-apiserver"), append([]string{
		"--etcd-servers=" + env.Etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + pki, "--endpoint-reconciler-type=none", "--token-auth-file=" + filepath.Join(pki, "tokens.csv"),
		"--authorization-mode=Node,RBAC", "--service-account-key-file=" + filepath.Join(pki, "service-account.key"),
		"--service-account-signing-key-file=" + filepath.Join(pki, "service-account.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.96.0.0/16",
		"--disable-admission-plugins=TaintNodesByCondition", "--profiling=false",
	}, flags...)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		w.T.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	w.T.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = log.Close()
	})
	config := rest.CopyConfig(w.config)
	config.Host = fmt.Sprintf("https://127.0.0.1:%d", port)
	other := &world{World: &controlplane.World{T: w.T, Namespace: w.Namespace}, config: config}
	w.Eventually("the second API server", func() bool {
		select {
		case err := <-ended:
			ended <- err
			text, _ := os.ReadFile(log.Name())
			w.T.Fatalf("the second API server ended: %v\n%s", err, text)
		default:
		}
		httpClient, err := rest.HTTPClientFor(config)
		if err != nil {
			w.T.Fatal(err)
		}
		answer, err := httpClient.Get(config.Host + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == 200
	})
	other.Client, err = client.New(config, client.Options{Scheme: controlplane.Scheme(w.T)})
	if err != nil {
		w.T.Fatal(err)
	}
	return other
}

// repositoryRoot is the folder above with go.mod; tests run in that of their package.
func repositoryRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("no go.mod above")
	return ""
}
