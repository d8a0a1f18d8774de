package acceptance

import (
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/operator/internal/webhook"
	"github.com/raygate/raygate/pkg/validation"
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

// TestStagesOfAdmission: an administrator can look first and refuse later.
func TestStagesOfAdmission(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	for _, tc := range []struct {
		stage        webhook.Stage
		wantRefusal  bool
		wantWarnings bool
	}{{webhook.StageAudit, false, false}, {webhook.StageWarn, false, true}, {webhook.StageEnforce, true, false}} {
		other := handlers{}
		webhook.Register(other, validation.Options{}, tc.stage, webhook.NewMetrics(), nil)
		hooks.with(t, func(w http.ResponseWriter, r *http.Request, _ http.Handler) { other[validatePath].ServeHTTP(w, r) }, validatePath)
		name := strings.ToLower(string(tc.stage))
		c.taken()
		_, err := c.clusters(hub, ns).Create(t.Context(), decode(invalid(name)), metav1.CreateOptions{})
		if apierrors.IsInvalid(err) != tc.wantRefusal || err != nil && !tc.wantRefusal {
			t.Errorf("%s: %v", tc.stage, err)
		}
		if got := c.taken(); strings.Contains(got, "(RC-053)") != tc.wantWarnings || tc.stage == webhook.StageAudit && got != "" {
			t.Errorf("%s: warnings %q", tc.stage, got)
		}
	}
}

type handlers map[string]http.Handler

func (h handlers) Register(path string, hook http.Handler) { h[path] = hook }
