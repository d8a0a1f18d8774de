package acceptance

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOwnWritesAreNotSent: the operator's own writes are not sent to its webhooks, which may be down while it starts.
func TestOwnWritesAreNotSent(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	create(t, c, "rayclusters", ns, cluster("a"))
	for user, want := range map[string]int{"system:serviceaccount:raygate-system:raygate-operator": 0, "system:serviceaccount:raygate-system:autoscaler": 1} {
		calls := hooks.count(validatePath)
		obj := get(t, c, "rayclusters", hub, ns, "a")
		obj.SetAnnotations(map[string]string{"by": user})
		if _, err := connectAs(t, user).clusters(hub, ns).Update(t.Context(), obj, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := hooks.count(validatePath) - calls; got != want {
			t.Errorf("a write by %s called the webhook %d times, want %d", user, got, want)
		}
	}
}
