package attack

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/podaddress"
)

// head is a cluster with a head Pod, which is a server of the test.
type head struct {
	t         *testing.T
	namespace string
	cluster   *rayv1.RayCluster
	pod       *corev1.Pod
}

// clusterJSON is a RayCluster whose dashboard listens on a port.
func clusterJSON(name string, port uint16, headService string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"rayVersion":"2.52.0","headGroupSpec":{%s"rayStartParams":{},"template":{"spec":{"containers":[
		{"name":"ray-head","image":"rayproject/ray:2.52.0","ports":[{"name":"dashboard","containerPort":%d}]}]}}}}}`, name, headService, port)
}

// newHead makes a cluster through the gateway, and then what the operator and a kubelet make of it: a Pod at an address, and a status.
func newHead(t *testing.T, team, name, headService string, at netip.AddrPort) *head {
	t.Helper()
	if got := as(t, team, "POST", "/apis/v2/namespaces/"+team+"/clusters", clusterJSON(name, at.Port(), headService), "Content-Type", "application/json"); got.code != http.StatusCreated {
		t.Fatalf("creating %s: %d %s", name, got.code, got.body)
	}
	h := &head{t: t, namespace: team, cluster: &rayv1.RayCluster{}}
	h.must(stage.kube.Get(t.Context(), client.ObjectKey{Namespace: team, Name: name}, h.cluster))
	h.pod = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name + "-pod", Labels: map[string]string{rayv1.LabelCluster: name, rayv1.LabelNodeType: "head"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "ray.io/v1", Kind: "RayCluster", Name: name, UID: h.cluster.UID, Controller: new(true)}}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "ray-head", Image: "x"}}},
	}
	await.True(t, "a Pod", func() bool { // the default service account is on its way
		return stage.kube.Create(t.Context(), h.pod) == nil
	})
	h.moves(at.Addr().String())
	h.status(h.pod.Name)
	t.Cleanup(func() {
		_ = stage.kube.Delete(t.Context(), h.cluster)
		_ = stage.kube.Delete(t.Context(), h.pod, client.GracePeriodSeconds(0))
	})
	await.True(t, "the gateway to see the head", func() bool {
		return strings.Contains(as(t, team, "GET", "/apis/v2/namespaces/"+team+"/clusters/"+name, "").body, h.pod.Name)
	})
	return h
}

func (h *head) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// moves gives the Pod an address, as a kubelet does.
func (h *head) moves(ip string) {
	h.t.Helper()
	h.pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}}
	h.must(stage.kube.Status().Update(h.t.Context(), h.pod))
}

// status is what the operator says of the head.
func (h *head) status(pod string) {
	h.t.Helper()
	h.cluster.Status.State, h.cluster.Status.ObservedGeneration = rayv1.ClusterStateReady, h.cluster.Generation
	h.cluster.Status.Head = rayv1.HeadInfo{ServiceName: h.cluster.Name + "-head-svc", PodName: pod, PodIP: h.pod.Status.PodIP}
	h.must(stage.kube.Status().Update(h.t.Context(), h.cluster))
}

// path of the dashboard on the gateway.
func (h *head) path() string {
	return "/apis/v2/namespaces/" + h.namespace + "/clusters/" + h.cluster.Name + "/dashboard"
}

// tunnel opens a tunnel to a port of the head as a tenant, and returns the code of the answer.
func (h *head) tunnel(team, port string) int {
	h.t.Helper()
	ws, resp, err := websocket.Dial(h.t.Context(), stage.gateway.url+strings.TrimSuffix(h.path(), "dashboard")+"tunnel?port="+port, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + stage.tokens[team]}},
	})
	if resp == nil {
		h.t.Fatal(err)
	}
	if err == nil {
		_ = ws.CloseNow()
	}
	return resp.StatusCode
}

const externalName = `"headService":{"metadata":{},"spec":{"type":"ExternalName","externalName":"evil.example"}},`

// A tenant points the name of a head Service at what only the gateway reaches, here on its loopback interface: with a Service of type ExternalName, or by what DNS
// answers for it. Neither the proxy, nor submissions, nor V1, nor a page leads there.
func TestServerSideRequests(t *testing.T) {
	var reached atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`[{"secret":"of the gateway's network"}]`))
	}))
	defer inside.Close()
	address := netip.MustParseAddrPort(inside.Listener.Addr().String())
	h := newHead(t, teamA, "evil", externalName, address)
	attack := func(t *testing.T) {
		t.Helper()
		clusters := "/apis/v2/namespaces/" + teamA + "/clusters/evil"
		for _, request := range [][2]string{
			{"GET", h.path() + "/latest/meta-data/iam/security-credentials/"}, {"POST", h.path() + "/x"}, {"PUT", h.path() + "/latest/api/token"}, {"DELETE", h.path() + "/x"},
			{"GET", clusters + "/submissions"}, {"GET", clusters + "/submissions/x"}, {"POST", clusters + "/submissions"}, {"GET", clusters + "/submissions/x/logs"},
			{"GET", "/apis/v1/namespaces/" + teamA + "/jobsubmissions/evil"}, {"GET", clusters + ":diagnose"},
		} {
			body := ""
			if request[0] == "POST" {
				body = `{"entrypoint":"true"}`
			}
			if got := as(t, teamA, request[0], request[1], body, "Content-Type", "application/json"); reached.Load() > 0 || strings.Contains(got.body, "secret") {
				t.Fatalf("%s %s reached the inside: %d %s", request[0], request[1], got.code, got.body)
			}
		}
		if code := h.tunnel(teamA, "dashboard"); code < 400 {
			t.Errorf("a tunnel to the inside: %d", code)
		}
		page, _ := openPage(t, teamA, "evil")
		if got := send(t, plain, "GET", stage.gateway.url+page+"static/x.js", ""); reached.Load() > 0 || got.code < 400 {
			t.Errorf("a page reached the inside: %d %s", got.code, got.body)
		}
	}
	t.Run("by the name of the Service", func(t *testing.T) {
		h.status("")
		await.True(t, "the gateway to see it", func() bool {
			return !strings.Contains(as(t, teamA, "GET", "/apis/v2/namespaces/"+teamA+"/clusters/evil", "").body, h.pod.Name)
		})
		attack(t)
	})
	// Tenants do not write the status of Pods; a fault elsewhere must not be enough.
	for _, ip := range []string{"127.0.0.1", "::1", "0.0.0.0"} {
		t.Run("by a Pod at "+ip, func(t *testing.T) {
			h.moves(ip)
			h.status(h.pod.Name)
			await.True(t, "the gateway to see it", func() bool {
				return strings.Contains(as(t, teamA, "GET", "/apis/v2/namespaces/"+teamA+"/clusters/evil", "").body, h.pod.Name)
			})
			attack(t)
		})
	}
}

// A tenant has the head of their own cluster be a Pod that is none, or another tenant's. The honest head works, whatever the type of its Service.
func TestForeignPods(t *testing.T) {
	var asked atomic.Int32
	_, address := podaddress.Serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	h := newHead(t, teamA, "own", externalName, address)
	if got := as(t, teamA, "GET", h.path()+"/x", ""); got.code != http.StatusOK || asked.Load() != 1 {
		t.Fatalf("the honest head: %d %s", got.code, got.body)
	}
	if code := h.tunnel(teamA, "dashboard"); code != http.StatusSwitchingProtocols {
		t.Fatalf("a tunnel to the honest head: %d", code)
	}
	other := newHead(t, teamB, "other", "", address)
	for name, change := range map[string]func(){
		"a Pod of another tenant": func() { h.status(other.pod.Name) },
		"a Pod without an owner": func() {
			h.pod.OwnerReferences = nil
			h.must(stage.kube.Update(t.Context(), h.pod))
		},
		"a Pod that has ended": func() {
			h.pod.Status.Phase = corev1.PodFailed
			h.must(stage.kube.Status().Update(t.Context(), h.pod))
		},
	} {
		t.Run(name, func(t *testing.T) {
			change()
			await.True(t, "no way to the Pod", func() bool { return as(t, teamA, "GET", h.path()+"/x", "").code >= 400 })
			before := asked.Load()
			if got := as(t, teamA, "GET", h.path()+"/x", ""); got.code < 400 || asked.Load() != before {
				t.Errorf("%d %s", got.code, got.body)
			}
			if code := h.tunnel(teamA, "dashboard"); code < 400 {
				t.Errorf("a tunnel: %d", code)
			}
			owner := []metav1.OwnerReference{{APIVersion: "ray.io/v1", Kind: "RayCluster", Name: "own", UID: h.cluster.UID, Controller: new(true)}}
			h.pod.OwnerReferences = owner
			h.must(stage.kube.Update(t.Context(), h.pod))
			h.moves(address.Addr().String())
			h.status(h.pod.Name)
			await.True(t, "the honest head", func() bool { return as(t, teamA, "GET", h.path()+"/x", "").code == http.StatusOK })
		})
	}
	if got := as(t, teamA, "GET", other.path()+"/x", ""); got.code != http.StatusForbidden {
		t.Errorf("the dashboard of another tenant: %d %s", got.code, got.body)
	}
	if code := other.tunnel(teamA, "dashboard"); code != http.StatusForbidden {
		t.Errorf("a tunnel to the head of another tenant: %d", code)
	}
	for _, port := range []string{"22", "6379", "kubelet"} { // of the own head, and not declared
		if code := h.tunnel(teamA, port); code != http.StatusBadRequest {
			t.Errorf("a tunnel to port %s: %d", port, code)
		}
	}
}

// A hostile head answers with headers that would act on the origin of the gateway, and on what a browser does there later.
func TestHostileAnswers(t *testing.T) {
	_, address := podaddress.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range map[string]string{
			"NEL": `{"report_to":"g","max_age":2592000,"success_fraction":1}`, "Report-To": `{"group":"g","max_age":2592000,"endpoints":[{"url":"https://evil.example/r"}]}`,
			"Clear-Site-Data": `"*"`, "Strict-Transport-Security": "max-age=31536000", "Set-Cookie": "raygate-session-0=x; Path=/", "Access-Control-Allow-Origin": "*",
			"Location": "https://evil.example/", "Content-Type": "text/html", "Service-Worker-Allowed": "/", "Refresh": "0; url=https://evil.example",
		} {
			w.Header().Set(name, value)
		}
		w.WriteHeader(http.StatusEarlyHints) // takes the headers of the gateway away, where it is passed on
		w.WriteHeader(http.StatusFound)
	}))
	h := newHead(t, teamA, "hostile", "", address)
	page, cookies := openPage(t, teamA, "hostile")
	for name, got := range map[string]answer{
		"the API": as(t, teamA, "GET", h.path()+"/", ""), "a page": send(t, plain, "GET", stage.gateway.url+page, "", "Cookie", cookies), "a file": send(t, plain, "GET", stage.gateway.url+page+"static/x.js", ""),
	} {
		if got.code != http.StatusFound {
			t.Errorf("%s: %d %s", name, got.code, got.body)
		}
		for _, header := range []string{"Nel", "Report-To", "Clear-Site-Data", "Strict-Transport-Security", "Set-Cookie", "Location", "Service-Worker-Allowed", "Refresh"} {
			if value := got.header.Get(header); value != "" {
				t.Errorf("%s has %s: %s", name, header, value)
			}
		}
		if got.header.Get("Access-Control-Allow-Origin") == "*" {
			t.Errorf("%s is for every origin", name)
		}
		if got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(got.header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s lacks headers of the gateway: %v", name, got.header)
		}
	}
}
