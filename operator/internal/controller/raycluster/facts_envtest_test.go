package raycluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/pkg/validation"
)

// withNetworkPolicies turns the feature gate on.
func withNetworkPolicies(c *Config) {
	c.NetworkPolicies = true
	c.Validation.Gates = map[validation.Gate]bool{validation.GateNetworkPolicy: true}
}

// TestWhatIsWrongAroundAClusterIsReported: what rules find in other objects is reported once, in the words of the rule, and keeps
// nothing else from being made.
func TestWhatIsWrongAroundAClusterIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: w.Namespace, Name: name} }
	w.Create(&networkingv1.NetworkPolicy{ObjectMeta: at("fenced-workers-cpu")})
	w.Create(&corev1.Secret{ObjectMeta: at("token")}) // without the key
	w.asOperator()
	w.startOperator(withNetworkPolicies)
	cases := map[string]struct {
		cluster   raytest.ClusterOption
		want      string
		wantEvent string
		remedy    func()
	}{
		"fenced": {
			cluster:   raytest.Spec(func(s *rayv1.RayClusterSpec) { s.NetworkPolicy = &rayv1.NetworkPolicyConfig{} }),
			want:      `spec.networkPolicy: Forbidden: the NetworkPolicy "fenced-workers-cpu" belongs to someone else`,
			wantEvent: "NetworkPolicyNameCollision",
			remedy: func() {
				if err := w.Client.Delete(t.Context(), &networkingv1.NetworkPolicy{ObjectMeta: at("fenced-workers-cpu")}); err != nil {
					t.Fatal(err)
				}
			},
		},
		"scaled": {
			cluster: raytest.Spec(func(s *rayv1.RayClusterSpec) {
				s.EnableInTreeAutoscaling, s.HeadGroupSpec.Template.Spec.ServiceAccountName = new(true), "mine"
			}),
			want:      `spec.headGroupSpec.template.spec.serviceAccountName: Not found: "mine": make a ServiceAccount`,
			wantEvent: "AutoscalerServiceAccountNotFound",
			remedy:    func() { w.Create(&corev1.ServiceAccount{ObjectMeta: at("mine")}) },
		},
		"authenticated": {
			cluster: raytest.Spec(func(s *rayv1.RayClusterSpec) {
				s.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken, SecretName: new("token")}
			}),
			want:      `spec.authOptions.secretName: Not found: "token": make a Secret of this name with the token under the key auth_token`,
			wantEvent: "AuthSecretNotFound",
			remedy: func() {
				s := &corev1.Secret{ObjectMeta: at("token")}
				w.Read(s)
				s.Data = map[string][]byte{rayv1.AuthTokenSecretKey: []byte("x")}
				if err := w.Client.Update(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			},
		},
	}
	for name, tc := range cases {
		w.Create(w.cluster(name, raytest.Workers("cpu", 1), tc.cluster))
	}
	for name, tc := range cases {
		w.Eventually("the condition of "+name, func() bool { return strings.Contains(w.childFailure(name), tc.want) })
		w.Eventually("the event about "+name, func() bool { return len(w.Events(name, tc.wantEvent)) > 0 })
		if name != "scaled" { // without the ServiceAccount no Pod can be made that names it
			w.Eventually("the Pods of "+name+" all the same", func() bool { return len(w.pods(name)) == 2 })
		}
		tc.remedy()
		// A changed object is looked at at once, and not only when the next attempt is due.
		w.ChangeCluster(name, func(rc *rayv1.RayCluster) {
			rc.Labels, rc.Spec.WorkerGroupSpecs[0].Replicas = map[string]string{"touched": "yes"}, new(int32(2))
		})
		w.Eventually("the end of the condition of "+name, func() bool { return w.childFailure(name) == "" })
		if notes := w.Events(name, tc.wantEvent); len(notes) != 1 || !strings.Contains(notes[0], tc.want) {
			t.Errorf("%s: events %q, want one with %q", name, notes, tc.want)
		}
	}
}

func TestWorkersToDeleteThatAreNoneAreReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startOperator()
	w.Create(w.cluster("demo", raytest.Autoscaling(), raytest.Workers("cpu", 1)))
	w.Create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "some-db-0"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	})
	w.eventuallyReady("demo")
	pods := w.pods("demo")
	worker := pods[slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Labels[rayv1.LabelGroup] == "cpu" })].Name
	name := func(victims ...string) {
		w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].ScaleStrategy.WorkersToDelete = victims })
	}
	name(worker)
	w.Eventually("another worker", func() bool {
		list := w.pods("demo")
		return len(list) == 2 && !slices.ContainsFunc(list, func(p corev1.Pod) bool { return p.Name == worker })
	})
	name(worker, "some-db-0")
	w.Eventually("the event", func() bool { return len(w.Events("demo", "InvalidRayClusterSpec")) > 0 })
	notes := w.Events("demo", "InvalidRayClusterSpec")
	want := `spec.workerGroupSpecs[0].scaleStrategy.workersToDelete[1]: Invalid value: "some-db-0": is no Pod of this group and is left alone`
	if len(notes) != 1 || !strings.HasSuffix(notes[0], want) {
		t.Errorf("events %q, want one that ends in %q", notes, want)
	}
	if !w.Read(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "some-db-0"}}) {
		t.Error("the Pod of somebody else is gone")
	}
}

func TestLostTokenIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.asOperator()
	w.startOperator()
	w.Create(w.cluster("demo", raytest.Workers("cpu", 1), raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken}
	})))
	w.eventuallyReady("demo")
	token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "demo"}}
	w.Read(token)
	old := string(token.Data[rayv1.AuthTokenSecretKey])
	time.Sleep(2 * time.Second) // times of objects are in seconds
	lose := func() {
		t.Helper()
		uid := token.UID
		if err := w.Client.Delete(t.Context(), token, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
		w.Eventually("a new Secret", func() bool { return w.Read(token) && token.UID != uid })
		w.Eventually("the condition", func() bool { return strings.Contains(w.childFailure("demo"), "Secret demo was lost") })
		w.Eventually("the event", func() bool { return len(w.Events("demo", "AuthTokenReplaced")) > 0 })
	}
	lose()
	if got := string(token.Data[rayv1.AuthTokenSecretKey]); got == old || got == "" {
		t.Errorf("token %q after %q", got, old)
	}

	// The first way out: the old token is put back.
	token.Data[rayv1.AuthTokenSecretKey], token.Annotations = []byte(old), nil
	if err := w.Client.Update(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the end of the condition", func() bool { return w.childFailure("demo") == "" })
	if w.Read(token); string(token.Data[rayv1.AuthTokenSecretKey]) != old {
		t.Error("the token of the user was changed")
	}

	// The second: all Pods are started anew.
	lose()
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Spec.Suspend = new(true) })
	w.Eventually("the end of all Pods", func() bool { return len(w.pods("demo")) == 0 && w.childFailure("demo") == "" })
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Spec.Suspend = nil })
	w.eventuallyReady("demo")
	if got := w.childFailure("demo"); got != "" {
		t.Errorf("condition %q after all Pods have been started anew", got)
	}
}
