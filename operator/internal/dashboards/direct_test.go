package dashboards

import (
	"errors"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/podaddress"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/headpod"
)

// The dashboard is asked at the address of a Pod that the cluster controls, whatever the address in the status of a RayJob says.
func TestDirect(t *testing.T) {
	var hosts []string
	_, address := podaddress.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts = append(hosts, r.Host)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"RUNNING"}`))
	}))
	rc := raytest.RayCluster("ns/demo")
	rc.UID = "uid"
	rc.Spec.HeadGroupSpec.HeadService = &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "evil.example"}}
	rc.Spec.HeadGroupSpec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "dashboard", ContainerPort: int32(address.Port())}}
	head := func(name, ip string, age time.Duration, uid string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, Labels: map[string]string{rayv1.LabelCluster: "demo", rayv1.LabelNodeType: "head"}, CreationTimestamp: metav1.NewTime(time.Unix(1_000_000, 0).Add(-age)),
			OwnerReferences: []metav1.OwnerReference{{Kind: "RayCluster", Name: "demo", UID: "uid", Controller: new(uid == "uid")}},
		}, Status: corev1.PodStatus{PodIP: ip}}
	}
	for name, tc := range map[string]struct {
		pods []client.Object
		want error
	}{
		"the head":                       {[]client.Object{head("b", address.Addr().String(), 0, "uid")}, nil},
		"one that replaces another":      {[]client.Object{head("a", "192.0.2.99", time.Hour, "uid"), head("b", address.Addr().String(), 0, "uid")}, nil},
		"one that has no address yet":    {[]client.Object{head("a", address.Addr().String(), time.Hour, "uid"), head("b", "", 0, "uid")}, nil},
		"beside one that is not its own": {[]client.Object{head("a", address.Addr().String(), time.Hour, "uid"), head("b", "192.0.2.99", 0, "mine")}, nil},
		"none":                           {nil, headpod.ErrNoHead},
		"only one that is not its own":   {[]client.Object{head("b", address.Addr().String(), 0, "mine")}, headpod.ErrNoHead},
		"one on loopback":                {[]client.Object{head("b", "127.0.0.1", 0, "uid")}, headpod.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			hosts = nil
			pods := fake.NewClientBuilder().WithScheme(clientscheme.Scheme).WithObjects(tc.pods...).Build()
			c, err := Direct(pods, headpod.NewTransport(""))(SiteOf(rc, "metadata.google.internal:80").address, "")
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.GetJob(t.Context(), "x")
			if !errors.Is(err, tc.want) || tc.want != nil && (!errors.Is(err, dashboard.ErrUnavailable) || hosts != nil) || tc.want == nil && len(hosts) != 1 {
				t.Errorf("%v, asked as %q", err, hosts)
			}
		})
	}
}
