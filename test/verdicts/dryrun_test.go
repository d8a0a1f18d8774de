package verdicts

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// quotaOfNone forbids RayClusters in a namespace. No controller counts here, so the test says what is used.
func quotaOfNone(ctx context.Context, namespace string) error {
	none := corev1.ResourceList{"count/rayclusters.ray.io": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	client := lab.core.CoreV1().ResourceQuotas(namespace)
	created, err := client.Create(ctx, quota, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	created.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	_, err = client.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	return err
}

// TestValidateOnlyAsksEveryLayer: with validate_only the gateway gives the verdict of all layers, here of a quota and of a
// policy of the cluster's owner, which no rule of raygate knows, and writes nothing.
func TestValidateOnlyAsksEveryLayer(t *testing.T) {
	needLab(t)
	s := settings[0]
	if err := quotaOfNone(t.Context(), nsQuota); err != nil {
		t.Fatal(err)
	}
	const wish = "every RayCluster must have the label team"
	own := policyOn("owner-wants-teams", "has(object.metadata.labels) && 'team' in object.metadata.labels", wish)
	if err := unstructured.SetNestedMap(own[1].Object, map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": nsOwnPolicy}},
		"spec", "matchResources", "namespaceSelector"); err != nil {
		t.Fatal(err)
	}
	for _, u := range own {
		if err := createPolicy(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		layer, namespace, wantText string
		wantHTTP                   int
		wantCode                   codes.Code
	}{
		{"a quota", nsQuota, "exceeded quota: none", 429, codes.ResourceExhausted},
		{"a policy", nsOwnPolicy, wish, 400, codes.InvalidArgument},
	} {
		t.Run(tc.layer, func(t *testing.T) {
			u := asUnstructured(baseOf("RayCluster"))
			u.SetNamespace(tc.namespace)
			path := restPath("RayCluster", tc.namespace) + "?validateOnly=true"
			err := eventually(t.Context(), tc.layer+" at REST", func(ctx context.Context) error {
				r, err := callREST(ctx, s, "POST", path, u)
				if err == nil && (r.code != tc.wantHTTP || !strings.Contains(string(r.body), tc.wantText)) {
					err = fmt.Errorf("HTTP %d, want %d with %q: %s", r.code, tc.wantHTTP, tc.wantText, r.body)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			_, err = callGRPC(t.Context(), s, "RayCluster", "Create", map[string]any{"namespace": tc.namespace}, u)
			if status.Code(err) != tc.wantCode || !strings.Contains(err.Error(), tc.wantText) {
				t.Errorf("gRPC: %v, want %s with %q", err, tc.wantCode, tc.wantText)
			}
		})
	}
	t.Run("nobody", func(t *testing.T) {
		u := asUnstructured(baseOf("RayCluster"))
		u.SetNamespace(nsGateway)
		if r, err := callREST(t.Context(), s, "POST", restPath("RayCluster", nsGateway)+"?validateOnly=true", u); err != nil || r.code >= 300 {
			t.Errorf("a valid object: %v, HTTP %d: %s", err, r.code, r.body)
		}
		_, err := kindOf("RayCluster").Namespace(nsGateway).Get(t.Context(), u.GetName(), metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("validate_only has written: %v", err)
		}
	})
}
