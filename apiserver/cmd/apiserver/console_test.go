package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/internal/testing/await"
)

// browser keeps cookies, and says whose page asks, as browsers do.
type browser struct {
	client *http.Client
	base   string
}

func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{&http.Client{Transport: transport, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, base}
}

func (b *browser) send(t *testing.T, method, path, site, body string, into any) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", site)
	r.Header.Set("Content-Type", "application/json")
	resp, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if into != nil && json.Unmarshal(data, into) != nil {
		t.Fatalf("%s %s: HTTP %d: %s", method, path, resp.StatusCode, data)
	}
	return resp.StatusCode
}

type consoleRights struct {
	Allowed map[string][]string `json:"allowed"`
}

// Kubernetes decides what the pages show: who calls by a session, what they may do, and whose Pods they see.
func TestConsole(t *testing.T) {
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	p := startProcess(t, env.Config, authn.Passthrough)
	base := "http://" + p.http
	log := func(name string, verbs ...string) *browser {
		b := newBrowser(t, base)
		if code := b.send(t, "POST", "/ui/session", "same-origin", `{"token":"`+userToken(t, kube, name, verbs...)+`"}`, nil); code != 200 {
			t.Fatalf("login of %s: HTTP %d", name, code)
		}
		return b
	}
	reader, nobody := log("console-reader", "get", "list", "watch"), log("console-nobody")

	t.Run("session", func(t *testing.T) {
		var who struct {
			Authenticated bool   `json:"authenticated"`
			User          string `json:"user"`
		}
		if reader.send(t, "GET", "/ui/session", "same-origin", "", &who); !who.Authenticated || who.User != "system:serviceaccount:default:console-reader" {
			t.Errorf("got %+v", who)
		}
		if code := newBrowser(t, base).send(t, "POST", "/ui/session", "same-origin", `{"token":"unknown"}`, nil); code != 401 {
			t.Errorf("login with an unknown token: HTTP %d", code)
		}
		for site, want := range map[string]int{"same-origin": 200, "cross-site": 403, "same-site": 403, "none": 401} {
			if code := reader.send(t, "GET", collection("default"), site, "", nil); code != want {
				t.Errorf("a list asked for by %s: HTTP %d, want %d", site, code, want)
			}
		}
		if code := reader.send(t, "POST", collection("default"), "cross-site", "{}", nil); code != 403 {
			t.Errorf("a create of another site: HTTP %d", code)
		}
		if code := nobody.send(t, "GET", collection("default"), "same-origin", "", nil); code != 403 {
			t.Errorf("a list of nobody's: HTTP %d", code)
		}
	})

	t.Run("rights", func(t *testing.T) {
		var got consoleRights
		reader.send(t, "GET", "/ui/api/rights?namespace=default", "same-origin", "", &got)
		if want := []string{"get", "list", "watch"}; !slices.Equal(got.Allowed["rayclusters"], want) || !slices.Equal(got.Allowed["raycronjobs"], want) || len(got.Allowed["pods"]) > 0 {
			t.Errorf("the reader may %v", got.Allowed)
		}
		got = consoleRights{}
		reader.send(t, "GET", "/ui/api/rights?namespace=", "same-origin", "", &got)
		if len(got.Allowed) > 0 {
			t.Errorf("in all namespaces the reader may %v", got.Allowed)
		}
		if nobody.send(t, "GET", "/ui/api/rights?namespace=default", "same-origin", "", &got); len(got.Allowed) > 0 {
			t.Errorf("nobody may %v", got.Allowed)
		}
	})

	t.Run("rights by name", func(t *testing.T) {
		meta := metav1.ObjectMeta{Name: "console-one"}
		if _, err := kube.RbacV1().Roles("default").Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"delete"}, APIGroups: []string{"ray.io"}, Resources: []string{"rayclusters"}, ResourceNames: []string{"mine"}},
			{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}},
		}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		one := log("console-one-user")
		if _, err := kube.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "console-one-user"}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"mine": true, "other": false} {
			await.True(t, "the rights of the role", func() bool {
				var got consoleRights
				one.send(t, "GET", "/ui/api/rights?namespace=default&resource=rayclusters&name="+name, "same-origin", "", &got)
				return slices.Contains(got.Allowed["pods"], "list") && slices.Contains(got.Allowed["rayclusters"], "delete") == want
			})
		}

		for name, labels := range map[string]map[string]string{
			"console-head":  {rayv1.LabelCluster: "mine", rayv1.LabelNodeType: "head"},
			"console-of":    {rayv1.LabelCluster: "made", rayv1.LabelOriginatedFromCRName: "job", rayv1.LabelOriginatedFromCRD: "RayJob"},
			"console-other": {rayv1.LabelCluster: "other"},
		} {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "ray", Image: "ray"}}}}
			if _, err := kube.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = kube.CoreV1().Pods("default").Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
			})
		}
		for path, want := range map[string]string{"rayclusters/mine": "console-head", "rayjobs/job": "console-of", "rayservices/job": ""} {
			var got struct {
				Pods []struct {
					Name string `json:"name"`
				} `json:"pods"`
			}
			code := one.send(t, "GET", "/ui/api/namespaces/default/"+path+"/pods", "same-origin", "", &got)
			if code != 200 || want == "" != (len(got.Pods) == 0) || want != "" && got.Pods[0].Name != want {
				t.Errorf("Pods of %s: HTTP %d, %+v", path, code, got)
			}
		}
		if code := reader.send(t, "GET", "/ui/api/namespaces/default/rayclusters/mine/pods", "same-origin", "", nil); code != 403 {
			t.Errorf("Pods for one who may not list them: HTTP %d", code)
		}
		if code := one.send(t, "GET", "/ui/api/namespaces/default/secrets/mine/pods", "same-origin", "", nil); code != 404 {
			t.Errorf("Pods of a Secret: HTTP %d", code)
		}
	})

	t.Run("namespaces", func(t *testing.T) {
		var got struct {
			Namespaces    []string `json:"namespaces"`
			Complete, All bool
		}
		if reader.send(t, "GET", "/ui/api/namespaces", "same-origin", "", &got); got.Complete || !got.All || len(got.Namespaces) > 0 {
			t.Errorf("one who may not list them sees %+v", got)
		}
	})

	t.Run("logout", func(t *testing.T) {
		if code := nobody.send(t, "DELETE", "/ui/session", "same-origin", "", nil); code != 200 {
			t.Errorf("HTTP %d", code)
		}
		if code := nobody.send(t, "GET", collection("default"), "same-origin", "", nil); code != 401 {
			t.Errorf("after the logout: HTTP %d", code)
		}
	})
}

func TestConsoleOff(t *testing.T) {
	env := shared.Env(t)
	for _, on := range []bool{true, false} {
		p := startProcess(t, env.Config, authn.None, func(o *Options) { o.EnableConsole = on })
		b := newBrowser(t, "http://"+p.http)
		for _, path := range []string{"/ui/", "/ui/clusters", "/ui/main.js", "/ui/session", "/ui/api/namespaces"} {
			want := map[bool]int{true: 200, false: 404}[on]
			if code := b.send(t, "GET", path, "same-origin", "", nil); code != want {
				t.Errorf("console on: %v: %s: HTTP %d, want %d", on, path, code, want)
			}
		}
		r, _ := http.NewRequestWithContext(t.Context(), "GET", b.base+"/", nil)
		r.Header.Set("Accept", "text/html")
		resp, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if want := map[bool]string{true: "/ui/", false: "/docs"}[on]; resp.Header.Get("Location") != want {
			t.Errorf("console on: %v: a browser is sent to %q, want %q", on, resp.Header.Get("Location"), want)
		}
	}
}
