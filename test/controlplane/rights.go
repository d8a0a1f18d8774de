package controlplane

import (
	"context"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// AwaitRule waits until the API server allows a ServiceAccount the rule of a role in its namespace. The authorizer gets
// roles and bindings by a watch, a moment after they are created.
func AwaitRule(tb testing.TB, reviews authorizationclient.SubjectAccessReviewsGetter, namespace, serviceAccount string, rule rbacv1.PolicyRule) {
	tb.Helper()
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + namespace + ":" + serviceAccount,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: subresource,
		},
	}
	err := wait.PollUntilContextTimeout(tb.Context(), 10*time.Millisecond, WaitTimeout, true, func(ctx context.Context) (bool, error) {
		review, err := reviews.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed, err
	})
	if err != nil {
		tb.Fatalf("the right of %s to %s %s: %v", spec.User, rule.Verbs[0], rule.Resources[0], err)
	}
}
