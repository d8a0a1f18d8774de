package headpod

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/podaddress"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func cluster() *rayv1.RayCluster {
	rc := raytest.RayCluster("ns/demo")
	rc.UID = "uid"
	return rc
}

func headPod(edits ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "demo-head", Labels: map[string]string{rayv1.LabelCluster: "demo", rayv1.LabelNodeType: "head"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "RayCluster", Name: "demo", UID: "uid", Controller: new(true)}},
	}}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.1.2.3", HostIP: "192.168.0.1", HostIPs: []corev1.HostIP{{IP: "192.168.0.1"}, {IP: "fd00::9"}}}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func TestAddress(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*corev1.Pod)
		want string // empty for a refusal
	}{
		"the head":                         {func(*corev1.Pod) {}, "10.1.2.3:8265"},
		"IPv6":                             {func(p *corev1.Pod) { p.Status.PodIP = "fd00::1" }, "[fd00::1]:8265"},
		"a worker":                         {func(p *corev1.Pod) { p.Labels[rayv1.LabelNodeType] = "worker" }, ""},
		"a Pod that only bears the labels": {func(p *corev1.Pod) { p.OwnerReferences = nil }, ""},
		"owned and not controlled":         {func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }, ""},
		"of an earlier cluster":            {func(p *corev1.Pod) { p.OwnerReferences[0].UID = "before" }, ""},
		"of another namespace":             {func(p *corev1.Pod) { p.Namespace = "other" }, ""},
		"without an address":               {func(p *corev1.Pod) { p.Status.PodIP = "" }, ""},
		"that has ended":                   {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, ""},
		"with the address of its node":     {func(p *corev1.Pod) { p.Status.PodIP = "fd00::9" }, ""},
		"on the host network": {func(p *corev1.Pod) {
			p.Spec.HostNetwork, p.Status.PodIP = true, "192.168.0.1"
		}, "192.168.0.1:8265"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Of(cluster()).Address(headPod(tc.edit))
			if tc.want == "" && !errors.Is(err, ErrNoHead) || tc.want != "" && (err != nil || got.String() != tc.want) {
				t.Errorf("%v, %v; want %q", got, err, tc.want)
			}
		})
	}
	if _, err := Of(raytest.RayCluster("ns/demo")).Address(headPod(func(p *corev1.Pod) { p.OwnerReferences[0].UID = "" })); !errors.Is(err, ErrNoHead) {
		t.Errorf("a cluster without a uid owns a Pod: %v", err)
	}
}

// The port is the one that the head Service leads to.
func TestPort(t *testing.T) {
	service := func(p corev1.ServicePort) *corev1.Service {
		p.Name = rayv1.PortDashboard
		return &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "other", Port: 1}, p}}}
	}
	sidecar := corev1.Container{Name: "proxy", Ports: []corev1.ContainerPort{{Name: "guarded", ContainerPort: 4180}}}
	for name, tc := range map[string]struct {
		ports   []corev1.ContainerPort
		service *corev1.Service
		want    int32
	}{
		"by default":                  {nil, nil, 8265},
		"of the container":            {[]corev1.ContainerPort{{Name: "gcs", ContainerPort: 6379}, {Name: "dashboard", ContainerPort: 9000}}, nil, 9000},
		"of the user's Service":       {nil, service(corev1.ServicePort{Port: 9001}), 9001},
		"a target by number":          {nil, service(corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(9002)}), 9002},
		"a target by name":            {[]corev1.ContainerPort{{Name: "dashboard", ContainerPort: 9003}}, service(corev1.ServicePort{Port: 80, TargetPort: intstr.FromString("dashboard")}), 9003},
		"a target in a side-car":      {nil, service(corev1.ServicePort{Port: 80, TargetPort: intstr.FromString("guarded")}), 4180},
		"a target that is not there":  {nil, service(corev1.ServicePort{Port: 80, TargetPort: intstr.FromString("nowhere")}), 0},
		"a Service without dashboard": {nil, &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "evil.example"}}, 8265},
	} {
		rc := cluster()
		h := &rc.Spec.HeadGroupSpec
		h.Template.Spec.Containers[0].Ports, h.HeadService = tc.ports, tc.service
		h.Template.Spec.Containers = append(h.Template.Spec.Containers, sidecar)
		if got := Of(rc).Port; got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
	if _, err := (Head{Namespace: "ns", Cluster: "demo", UID: "uid"}).Address(headPod()); !errors.Is(err, ErrNoHead) {
		t.Errorf("without a port: %v", err)
	}
}

// The dialer refuses what is no address of a Pod, also if a Pod claimed to have it.
func TestWalls(t *testing.T) {
	d := dialer{refused: addressesOf("https://10.96.0.1:443")}
	for address, wantRefused := range map[string]bool{
		"10.1.2.3": false, "fd00::1": false, "192.0.2.7": false, "100.64.0.1": false,
		"127.0.0.1": true, "127.8.8.8": true, "::1": true, "0.0.0.0": true, "::": true, "169.254.169.254": true, "fe80::1": true, "224.0.0.1": true, "ff02::1": true,
		"255.255.255.255": true, "10.96.0.1": true,
	} {
		if err := d.check(netip.MustParseAddr(address)); errors.Is(err, ErrRefused) != wantRefused {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, server := range []string{"https://10.96.0.1:443", "10.96.0.1:443", "10.96.0.1", "https://10.96.0.1/clusters/x"} {
		if got := addressesOf(server); len(got) != 1 || got[0].String() != "10.96.0.1" {
			t.Errorf("%s: %v", server, got)
		}
	}
	loopback := httptest.NewServer(http.NotFoundHandler())
	defer loopback.Close()
	port := netip.MustParseAddrPort(loopback.Listener.Addr().String()).Port()
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		_, err := d.dial(t.Context(), "tcp", host+":"+strconv.Itoa(int(port)))
		if !errors.Is(err, ErrRefused) {
			t.Errorf("dialing %s: %v", host, err)
		}
	}
}

// A request goes to the address that was found, under the name that it asks for.
func TestTo(t *testing.T) {
	var host string
	_, address := podaddress.Serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { host = r.Host }))
	found, failure := address, error(nil)
	client := &http.Client{Transport: To(NewTransport("https://10.96.0.1"), func(context.Context) (netip.AddrPort, error) { return found, failure })}
	resp, err := client.Get("http://demo-head-svc.ns.svc:8265/x")
	if err != nil || resp.StatusCode != http.StatusOK || host != "demo-head-svc.ns.svc:8265" {
		t.Fatalf("%v, host %q", err, host)
	}
	_ = resp.Body.Close()
	failure = ErrNoHead
	if _, err := client.Get("http://demo-head-svc.ns.svc:8265/x"); !errors.Is(err, ErrNoHead) {
		t.Errorf("without a Pod: %v", err)
	}
	found, failure = netip.MustParseAddrPort("127.0.0.1:1"), nil
	if _, err := client.Get("http://demo-head-svc.ns.svc:8265/x"); !errors.Is(err, ErrRefused) {
		t.Errorf("a Pod on loopback: %v", err)
	}
	direct := &http.Client{Transport: NewTransport("")}
	if _, err := direct.Get("http://localhost:1/x"); !errors.Is(err, ErrRefused) {
		t.Errorf("a name: %v", err)
	}
}

func TestDeclared(t *testing.T) {
	rc := cluster()
	head := &rc.Spec.HeadGroupSpec
	ask := func(port string) int32 {
		found, err := Declared(rc, port)
		if errors.Is(err, ErrNoPort) {
			return 0
		}
		if err != nil {
			t.Errorf("%s: %v", port, err)
		}
		return found.Port
	}
	head.Template.Spec.Containers[0].Ports = nil
	for port, want := range map[string]int32{"client": 10001, "10001": 10001, "dashboard": 8265, "jupyter": 0, "22": 0, "": 0, "-1": 0} {
		if got := ask(port); got != want {
			t.Errorf("without declared ports, %q leads to %d", port, got)
		}
	}
	head.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "client", ContainerPort: 10002}, {ContainerPort: 53, Protocol: corev1.ProtocolUDP}, {ContainerPort: 9}}
	head.Template.Spec.Containers = append(head.Template.Spec.Containers, corev1.Container{Name: "notebook", Ports: []corev1.ContainerPort{{Name: "jupyter", ContainerPort: 8888}}})
	head.HeadService = &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "web", Port: 80, TargetPort: intstr.FromString("jupyter")}}}}
	for port, want := range map[string]int32{"client": 10002, "10001": 0, "dashboard": 8265, "53": 0, "": 0, "jupyter": 8888, "web": 8888, "80": 8888} {
		if got := ask(port); got != want {
			t.Errorf("%q leads to %d", port, got)
		}
	}
}
