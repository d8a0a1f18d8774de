package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// maxReviews is how many accesses of one answer are asked for at once.
const maxReviews = 8

// rightsAnswer is what the caller may do in a namespace.
type rightsAnswer struct {
	Namespace string `json:"namespace"`
	// Allowed are the verbs by resource, or resource/subresource.
	Allowed map[string][]string `json:"allowed"`
}

// rayResources are those of Ray's kinds, with the verbs that pages need.
var (
	rayResources = []string{"rayclusters", "rayjobs", "rayservices", "raycronjobs"}
	rayVerbs     = []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	// namedVerbs are those that a role may grant for single names.
	namedVerbs = []string{"get", "update", "patch", "delete"}
)

// accesses are what a page may ask for in a namespace. With a name it is about one object of a kind.
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

// rights answers what the caller may do in the namespace of the query, empty for all, and to the object that resource and name of the query say, if any. The
// pages leave out what is not in it; what is done all the same Kubernetes decides on.
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

// allowed returns those of all, in one namespace or in every, that the context's caller may do, in their order. One review has the rules of a namespace, unless
// not all of those who decide have rules that can be listed.
func (c *Console) allowed(ctx context.Context, namespace string, all []authz.Access) ([]authz.Access, error) {
	if c.Rules != nil && namespace != "" {
		if rules, err := c.Rules(ctx, namespace); err == nil && !rules.Incomplete {
			return slices.DeleteFunc(all, func(a authz.Access) bool { return !authz.Allow(rules.ResourceRules, a) }), nil
		}
	}
	var mu sync.Mutex
	var granted []int
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReviews)
	for i, a := range all {
		group.Go(func() error {
			err := c.Authorizer.Authorize(ctx, a)
			if apierrors.IsForbidden(err) {
				return nil
			}
			if err == nil {
				mu.Lock()
				granted = append(granted, i)
				mu.Unlock()
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(granted, cmp.Compare[int])
	allowed := make([]authz.Access, 0, len(granted))
	for _, i := range granted {
		allowed = append(allowed, all[i])
	}
	return allowed, nil
}
