package realray

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
)

// helmTimeout bounds a command of Helm. A new webhook waits for its kubelet to mount the certificate.
const helmTimeout = "5m"

// TestCoreInstall installs the chart on the node as a user does, with Helm and images. It creates a RayCluster with kubectl and one through
// the gateway, upgrades, rolls back, and uninstalls everything while Ray runs: first with webhooks, then without, where the upgrade turns
// them on. It runs before all other tests, which are parallel and therefore wait. The operator of the others is stopped: two would
// reconcile the same objects.
func TestCoreInstall(t *testing.T) {
	product.operator.Stop()
	t.Cleanup(func() {
		if err := product.operator.Start(); err != nil {
			t.Errorf("starting the operator of the other tests: %v", err)
		}
	})
	w := newWorld(t)
	i := newInstallation(w)

	install := []string{"install", "raygate", "../../charts/raygate", "--wait", "--take-ownership", "--set", "gateway.enabled=true"}
	turnConversionOff := append(append([]string{"patch", "crd"}, crdNames...), "--type=merge", "-p", withoutConversion) // as docs/webhooks.md says

	i.helm(append(install, "--set", "webhooks.mode=self-managed")...)
	i.podsRestricted("raygate-operator", "raygate-apiserver")
	w.run("webhooks refuse", webhooksRefuse)
	i.createByKubectl("by-kubectl", 1)
	i.createThroughGateway("by-gateway")
	// While Ray starts.
	i.helm("upgrade", "raygate", "../../charts/raygate", "--wait", "--reuse-values", "--set", "reconcileConcurrency=8")
	i.helm("rollback", "raygate", "1", "--wait")
	i.conversion(apiextensionsv1.WebhookConverter)
	i.ready("by-kubectl", "by-gateway")
	w.joined("by-kubectl", 1)
	w.run("webhooks refuse after the rollback", webhooksRefuse)
	before := i.rayPods(3)
	i.helm("uninstall", "raygate", "--wait")
	i.rayGoesOn(before)
	w.kubectl(turnConversionOff...)
	w.run("v1alpha1 is read without an operator", oldVersionIsRead)

	i.helm(install...)
	i.conversion(apiextensionsv1.NoneConverter)
	i.createByKubectl("next-by-kubectl", 0)
	i.createThroughGateway("next-by-gateway")
	i.helm("upgrade", "raygate", "../../charts/raygate", "--wait", "--force-conflicts", "--reuse-values", "--set", "webhooks.mode=self-managed")
	i.podsRestricted("raygate-operator")
	i.conversion(apiextensionsv1.WebhookConverter)
	i.ready("next-by-kubectl", "next-by-gateway")
	before = i.rayPods(5)
	w.run("webhooks that an upgrade turned on refuse", webhooksRefuse)
	w.run("v1alpha1 is converted", oldVersionIsRead)

	w.kubectl(turnConversionOff...)
	i.helm("rollback", "raygate", "1", "--wait")
	i.conversion(apiextensionsv1.NoneConverter)
	w.run("webhooks are gone", func(w *world) {
		if out := w.kubectl("get", "validatingwebhookconfigurations,mutatingwebhookconfigurations", "-o", "name"); strings.Contains(out, "raygate") {
			w.t.Errorf("these are left: %s", out)
		}
		w.eventually("nothing refuses without webhooks", func(ctx context.Context) error {
			rc := invalid(w.ns)
			if err := product.client.Create(ctx, rc); err != nil {
				return err
			}
			return product.client.Delete(ctx, rc)
		})
	})
	i.helm("uninstall", "raygate", "--wait")
	i.rayGoesOn(before)
}

// ready waits for clusters.
func (i *installation) ready(names ...string) {
	i.w.t.Helper()
	for _, name := range names {
		i.w.ready(&rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: i.w.ns}})
	}
}

// webhooksRefuse waits until a webhook refuses what nothing else does.
func webhooksRefuse(w *world) {
	w.eventually("a webhook refuses", func(ctx context.Context) error {
		rc := invalid(w.ns)
		err := product.client.Create(ctx, rc)
		if err == nil {
			return errors.Join(errNotYet, product.client.Delete(ctx, rc))
		}
		if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "admission webhook") {
			return fmt.Errorf("the error is not that of a webhook: %w", err)
		}
		return nil
	})
}

func oldVersionIsRead(w *world) {
	w.eventually("v1alpha1 is read", func(ctx context.Context) error {
		out, err := w.tryKubectl(ctx, "get", "rayclusters.v1alpha1.ray.io", "by-kubectl", "-o", "jsonpath={.apiVersion}")
		if err == nil && out != "ray.io/v1alpha1" {
			err = fmt.Errorf("apiVersion is %q", out)
		}
		return err
	})
}

// rayGoesOn demands that nothing of raygate is left, and that Ray's Pods are those of before.
func (i *installation) rayGoesOn(before map[string]string) {
	w := i.w
	w.t.Helper()
	if after := i.rayPods(len(before)); !maps.Equal(before, after) {
		w.t.Errorf("Ray's Pods were %v, and are %v", before, after)
	}
	w.joined("by-kubectl", 1)
	if err := product.client.Get(w.t.Context(), client.ObjectKey{Namespace: i.ns, Name: "raygate-operator"}, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		w.t.Errorf("the operator is still there: %v", err)
	}
}

// installation is a release of the chart in a namespace that enforces the restricted Pod security standard.
type installation struct {
	w  *world
	ns string
	// roots are what clients of the gateway trust.
	roots *x509.CertPool
}

func newInstallation(w *world) *installation {
	w.t.Helper()
	i := &installation{w: w, ns: "raygate-install", roots: x509.NewCertPool()}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.ns, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	if err := product.client.Create(w.t.Context(), ns); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { i.remove(ns) })
	crt, key, err := cert.GenerateSelfSignedCertKey("raygate-apiserver."+i.ns+".svc", nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	i.roots.AppendCertsFromPEM(crt)
	w.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "raygate-apiserver-tls", Namespace: i.ns}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: crt, corev1.TLSPrivateKeyKey: key},
	})
	return i
}

// remove leaves nothing behind that would be in the way of the other tests, however far this one came.
func (i *installation) remove(ns *corev1.Namespace) {
	if i.w.t.Failed() {
		(&world{t: i.w.t, ns: i.ns}).explain()
	}
	ctx, cancel := context.WithTimeout(context.Background(), settle)
	defer cancel()
	_, _ = i.tryHelm(ctx, "uninstall", "raygate", "--ignore-not-found", "--wait")
	for _, name := range crdNames {
		patch := client.RawPatch("application/merge-patch+json", []byte(withoutConversion))
		if err := product.client.Patch(ctx, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}, patch); err != nil {
			i.w.t.Errorf("cleaning up: %v", err)
		}
	}
	if err := product.client.Delete(ctx, ns); err != nil {
		i.w.t.Errorf("cleaning up: %v", err)
	}
}

const withoutConversion = `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`

var crdNames = []string{"rayclusters.ray.io", "raycronjobs.ray.io", "rayjobs.ray.io", "rayservices.ray.io"}

func (i *installation) helm(args ...string) {
	i.w.t.Helper()
	begin := time.Now()
	out, err := i.tryHelm(i.w.t.Context(), args...)
	if err != nil {
		i.w.t.Fatalf("helm %s: %v: %s", strings.Join(args, " "), err, out)
	}
	i.w.t.Logf("helm %s took %s", args[0], time.Since(begin).Round(time.Second))
}

func (i *installation) tryHelm(ctx context.Context, args ...string) (string, error) {
	args = append(args, "--kubeconfig", product.kubeconfig, "--namespace", i.ns, "--timeout", helmTimeout)
	out, err := exec.CommandContext(ctx, programs.Binary("helm"), args...).CombinedOutput()
	return string(out), err
}

// podsRestricted demands that Deployments have all their Pods, in a namespace that lets none in that is not restricted.
func (i *installation) podsRestricted(deployments ...string) {
	i.w.t.Helper()
	for _, name := range deployments {
		d := &appsv1.Deployment{}
		if err := product.client.Get(i.w.t.Context(), client.ObjectKey{Namespace: i.ns, Name: name}, d); err != nil {
			i.w.t.Fatal(err)
		}
		if d.Status.AvailableReplicas != *d.Spec.Replicas || d.Status.UpdatedReplicas != *d.Spec.Replicas {
			i.w.t.Errorf("%s has %+v of %d replicas after helm has waited", name, d.Status, *d.Spec.Replicas)
		}
	}
}

func (i *installation) conversion(want apiextensionsv1.ConversionStrategyType) {
	i.w.t.Helper()
	for _, name := range crdNames {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := product.client.Get(i.w.t.Context(), client.ObjectKey{Name: name}, crd); err != nil {
			i.w.t.Fatal(err)
		}
		want := want
		if len(crd.Spec.Versions) == 1 {
			want = apiextensionsv1.NoneConverter
		}
		if crd.Spec.Conversion.Strategy != want {
			i.w.t.Errorf("%s converts by %s, want %s", name, crd.Spec.Conversion.Strategy, want)
		}
	}
}

// rayPods are the Pods of the clusters, with their identities and the starts of their containers.
func (i *installation) rayPods(want int) map[string]string {
	i.w.t.Helper()
	out := map[string]string{}
	for _, cluster := range []string{"by-kubectl", "by-gateway", "next-by-kubectl", "next-by-gateway"} {
		for _, kind := range []rayv1.RayNodeType{rayv1.HeadNode, rayv1.WorkerNode} {
			for _, p := range i.w.pods(cluster, kind) {
				out[p.Name] = fmt.Sprintf("%s %s %d", p.UID, p.Status.Phase, p.Status.ContainerStatuses[0].RestartCount)
			}
		}
	}
	if len(out) != want {
		i.w.t.Errorf("%d Pods of Ray, want %d: %v", len(out), want, out)
	}
	return out
}

// createByKubectl makes a RayCluster as a user does.
func (i *installation) createByKubectl(name string, workers int32) {
	w := i.w
	w.t.Helper()
	data, err := json.Marshal(newCluster(w.ns, name, workers))
	if err != nil {
		w.t.Fatal(err)
	}
	file := filepath.Join(w.t.TempDir(), "cluster.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.kubectl("apply", "--server-side", "-f", file)
}

func newCluster(ns, name string, workers int32) *rayv1.RayCluster {
	return &rayv1.RayCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: rayv1.GroupVersion.String(), Kind: "RayCluster"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}, Spec: clusterSpec(workers),
	}
}

// createThroughGateway makes a RayCluster by REST, through the gateway's Service and its certificate, with the token of a ServiceAccount that may. One that may
// not is refused, and so is nobody.
func (i *installation) createThroughGateway(name string) {
	w := i.w
	w.t.Helper()
	svc := &corev1.Service{}
	if err := product.client.Get(w.t.Context(), client.ObjectKey{Namespace: i.ns, Name: "raygate-apiserver"}, svc); err != nil {
		w.t.Fatal(err)
	}
	body, err := json.Marshal(newCluster(w.ns, name, 0))
	if err != nil {
		w.t.Fatal(err)
	}
	url := "https://" + svc.Spec.ClusterIP + ":8888/apis/v2/namespaces/" + w.ns + "/clusters"
	h := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: i.roots, ServerName: "raygate-apiserver." + i.ns + ".svc", MinVersion: tls.VersionTLS12}}}
	for _, caller := range []struct {
		token string
		want  int
	}{{"", http.StatusUnauthorized}, {i.token("stranger-to-"+name, ""), http.StatusForbidden}, {i.token("user-of-"+name, "raygate-raycluster-editor"), http.StatusCreated}} {
		// kube-proxy learns of the gateway's Pods, and the API server of a RoleBinding, a moment later.
		w.eventually(fmt.Sprintf("creating a cluster is answered %d", caller.want), func(ctx context.Context) error {
			return postAs(ctx, h, url, caller.token, body, caller.want)
		})
	}
}

// postAs posts a body with a token, or with none if it is empty. Another status than want is an error.
func postAs(ctx context.Context, h *http.Client, url, token string, body []byte, want int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := h.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != want {
		err = fmt.Errorf("answered %d, want %d: %s", resp.StatusCode, want, text)
	}
	return err
}

// token is that of a new ServiceAccount with a role of the chart; an empty one gives none.
func (i *installation) token(account, role string) string {
	w := i.w
	w.t.Helper()
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: w.ns}})
	if role != "" {
		w.create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: w.ns},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: w.ns}},
		})
	}
	t, err := product.kube.CoreV1().ServiceAccounts(w.ns).CreateToken(w.t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return t.Status.Token
}

// invalid is a RayCluster that breaks a rule (RC-016) which neither the CRD nor its CEL holds: a container without a name.
func invalid(ns string) *rayv1.RayCluster {
	spec := clusterSpec(0)
	containers := &spec.HeadGroupSpec.Template.Spec.Containers
	*containers = append(*containers, corev1.Container{Image: image()})
	return &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: "invalid", Namespace: ns}, Spec: spec}
}
