package console

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/test/console/internal/browser"
)

// forgery is what a page of another site sends to a gateway, in each way that a browser has. It returns what the page could read.
const forgery = `(async (gateway, ns, cluster) => {
  const read = [];
  const attempt = async (what, path, options) => {
    try {
      const r = await fetch(gateway + path, {credentials: 'include', ...options});
      const text = await r.text();
      if (r.ok) read.push(what + ' ' + r.status + ' ' + text.slice(0, 100));
    } catch (e) { /* the browser keeps the answer from the page */ }
  };
  const clusters = '/apis/v2/namespaces/' + ns + '/clusters', templates = '/apis/v1/namespaces/' + ns + '/compute_templates';
  const template = JSON.stringify({name: 'forged', namespace: ns, cpu: 1, memory: 1});
  for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
    await attempt('simple', clusters, {method: 'POST', mode: 'no-cors', headers: {'Content-Type': type}, body: cluster});
    await attempt('simple', templates, {method: 'POST', mode: 'no-cors', headers: {'Content-Type': type}, body: template});
  }
  for (const credentials of ['include', 'omit']) {
    await attempt('asked', clusters, {method: 'POST', credentials, headers: {'Content-Type': 'application/json'}, body: cluster});
    await attempt('asked', templates, {method: 'POST', credentials, headers: {'Content-Type': 'application/json', Authorization: 'Bearer x'}, body: template});
    await attempt('read', clusters, {credentials});
    await attempt('read', '/ui/session', {credentials});
  }
  navigator.sendBeacon(gateway + clusters, cluster);
  const frame = Object.assign(document.createElement('iframe'), {name: 'target'});
  const form = Object.assign(document.createElement('form'), {action: gateway + clusters, method: 'POST', enctype: 'text/plain', target: 'target'});
  form.append(Object.assign(document.createElement('input'), {name: cluster.slice(0, -1) + ',"x":"', value: '"}'}));
  document.body.append(frame, form);
  const loaded = new Promise((done) => { frame.onload = done; setTimeout(done, 5000); });
  form.submit();
  await loaded;
  return read;
})(%q, %q, %q)`

// A page of another site is open in the browser of somebody who has a session of the gateway, and a gateway on their own machine that asks for nothing and
// was started as KubeRay's documents say. It makes nothing and reads nothing.
func TestPageOfAnotherSite(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	ports, err := programs.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	laptop := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	gateway := &programs.Program{
		Path: programs.Binary("raygate-apiserver"), Log: filepath.Join(t.TempDir(), "laptop.log"), Ready: laptop + "/readyz",
		Args: []string{
			"--kubeconfig", stage.Env.Kubeconfig, "--authentication=none", "-cors-allow-origin=*", "--use-kubernetes-proxy",
			"--http-address=" + strings.TrimPrefix(laptop, "http://"), fmt.Sprintf("--grpc-address=127.0.0.1:%d", ports[1]), "--metrics-address=",
		},
	}
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gateway.Stop)
	evil := otherSite(t)
	page, err := stage.chromium.Open(browser.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.Close)
	var status int
	login := fmt.Sprintf(`fetch('/ui/session', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({token: %q})}).then((r) => r.status)`, stage.admin)
	if err := errors.Join(page.Go(stage.URL+"/ui/login"), page.Run(login, &status)); err != nil || status != http.StatusOK {
		t.Fatalf("logging in: HTTP %d, %v", status, err)
	}
	for name, target := range map[string]string{"a gateway with tokens": stage.URL, "a laptop": laptop} {
		if read := forge(t, page, evil, target, ns); len(read) > 0 {
			t.Errorf("%s: the page reads %q", name, read)
		}
		if asked := page.URLs(); !slices.ContainsFunc(asked, func(url string) bool { return strings.HasPrefix(url, target+"/apis/v1/") }) {
			t.Errorf("%s: the page has asked for %q only", name, asked)
		}
		isNotForged(t, ns)
	}
}

// otherSite returns the URL of another site.
func otherSite(t *testing.T) string {
	t.Helper()
	evil := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>x</title><body>x"))
	}))
	_ = evil.Listener.Close()
	var err error
	if evil.Listener, err = net.Listen("tcp", "127.0.0.2:0"); err != nil { // which browsers take for another site
		t.Fatal(err)
	}
	evil.Start()
	t.Cleanup(evil.Close)
	return evil.URL
}

// forged is the cluster of forge.
const forged = `{"metadata":{"name":"forged"},"spec":{"headGroupSpec":{"rayStartParams":{},"template":{"spec":{"containers":[{"name":"ray-head","image":"x"}]}}}}}`

// forge lets a page of another site attack a gateway, and returns what it reads.
func forge(t *testing.T, page *browser.Page, site, gateway, ns string) (read []string) {
	t.Helper()
	if err := errors.Join(page.Go(site), page.Run(fmt.Sprintf(forgery, gateway, ns, forged), &read)); err != nil {
		t.Fatal(err)
	}
	return read
}

// isNotForged requires that forge has made nothing.
func isNotForged(t *testing.T, ns string) {
	t.Helper()
	for _, made := range []client.Object{&rayv1.RayCluster{}, &corev1.ConfigMap{}} {
		if err := stage.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "forged"}, made); !apierrors.IsNotFound(err) {
			t.Errorf("a page of another site has made a %T: %v", made, err)
		}
	}
}
