package authz

import (
	"context"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// RulesReview returns all permissions of the context's caller in a namespace, by a SelfSubjectRulesReview.
type RulesReview func(ctx context.Context, namespace string) (*authorizationv1.SubjectRulesReviewStatus, error)

// Allow reports whether rules allow an access.
func Allow(rules []authorizationv1.ResourceRule, a Access) bool {
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	return slices.ContainsFunc(rules, func(r authorizationv1.ResourceRule) bool {
		return names(r.Verbs, a.Verb) && names(r.APIGroups, a.Group) && (names(r.Resources, resource) || a.Subresource != "" && slices.Contains(r.Resources, "*/"+a.Subresource)) &&
			(len(r.ResourceNames) == 0 || a.Name != "" && slices.Contains(r.ResourceNames, a.Name))
	})
}

// names reports whether a list of a rule has a name, or all names.
func names(list []string, name string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, name)
}
