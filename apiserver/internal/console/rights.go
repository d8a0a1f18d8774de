package console

import (
	"context"
	"net/http"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// maxReviews is the maximum number of access reviews that one call sends at once.
const maxReviews = 8

// rightsAnswer has the permissions of the caller in a namespace.
type rightsAnswer struct {
	Namespace string `json:"namespace"`
	// Allowed are the verbs by resource, or resource/subresource.
	Allowed map[string][]string `json:"allowed"`
}

// rayResources are the resources of Ray's kinds, with the verbs that pages need.
var (
	rayResources = []string{"rayclusters", "rayjobs", "rayservices", "raycronjobs"}
	rayVerbs     = []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	// namedVerbs are the verbs that a role may grant for single names.
	namedVerbs = []string{"get", "update", "patch", "delete"}
)

// accesses returns the accesses that pages need in a namespace, or for one object of a kind if there is a name.
func accesses(namespace, resource, name string) []authz.Access {
	var all []authz.Access
	for _, kind := range rayResources {
		for _, verb := range rayVerbs {
			a := authz.Access{Verb: verb, Group: rayv1.GroupVersion.Group, Resource: kind, Namespace: namespace}
			if kind == resource && slices.Contains(namedVerbs, verb) {
				a.Name = name
			}
			all = append(all, a)
		}
	}
	return append(all,
		authz.Access{Verb: "list", Resource: "pods", Namespace: namespace},
		authz.Access{Verb: "get", Resource: "pods", Subresource: "log", Namespace: namespace},
		authz.Access{Verb: "list", Resource: "events", Namespace: namespace},
		authz.Access{Verb: "get", Resource: "services", Subresource: "proxy", Namespace: namespace},
		authz.Access{Verb: "create", Resource: "services", Subresource: "proxy", Namespace: namespace},
		authz.Access{Verb: "delete", Resource: "services", Subresource: "proxy", Namespace: namespace},
	)
}

// rights returns the permissions of the caller in the namespace of the query, empty for all, and on the object that its resource and name give, if
// any. The pages hide other actions; Kubernetes authorizes each request anyway.
func (c *Console) rights(r *http.Request) (any, error) {
	query := r.URL.Query()
	resource := query.Get("resource")
	if resource != "" && !slices.Contains(rayResources, resource) {
		return nil, rpcstatus.BadField("resource", "not a resource of Ray: use rayclusters, rayjobs, rayservices or raycronjobs")
	}
	answer := rightsAnswer{Namespace: query.Get("namespace"), Allowed: map[string][]string{}}
	allowed, err := c.allowed(r.Context(), answer.Namespace, accesses(answer.Namespace, resource, query.Get("name")))
	for _, a := range allowed {
		key := a.Resource
		if a.Subresource != "" {
			key += "/" + a.Subresource
		}
		answer.Allowed[key] = append(answer.Allowed[key], a.Verb)
	}
	return answer, err
}

// allowed returns the accesses that the context's caller has, in the order of all. One rules review has the answer for a namespace, unless an
// authorizer cannot list its rules.
func (c *Console) allowed(ctx context.Context, namespace string, all []authz.Access) ([]authz.Access, error) {
	if c.Rules != nil && namespace != "" {
		if rules, err := c.Rules(ctx, namespace); err == nil && !rules.Incomplete {
			return slices.DeleteFunc(all, func(a authz.Access) bool { return !authz.Allow(rules.ResourceRules, a) }), nil
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReviews)
	for i, a := range all {
		group.Go(func() error {
			err := c.Authorizer.Authorize(ctx, a)
			if apierrors.IsForbidden(err) {
				all[i] = authz.Access{} // which is left out below
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(a authz.Access) bool { return a == authz.Access{} }), nil
}
