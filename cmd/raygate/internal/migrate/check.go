package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

// pageSize is the number of objects that are listed at once.
const pageSize = 250

// Options select what to check.
type Options struct {
	// Operator is the Deployment of KubeRay as NAMESPACE/NAME. Empty means to search for it.
	Operator string
	// ServiceAccount is the account whose rights are checked, as NAMESPACE/NAME. Empty means that of raygate if it is installed, else that
	// of KubeRay.
	ServiceAccount string
	// Namespaces are the namespaces of the objects to check; empty means all. All other reads are not limited to a namespace.
	Namespaces []string
}

// Checker reads one Kubernetes cluster.
type Checker struct {
	reader  dynamic.Interface
	reviews authorizationv1.SubjectAccessReviewInterface
	options Options
	page    int64 // the number of objects that are in memory at once
}

// New returns a Checker of the cluster that the configuration names.
func New(config *rest.Config, o Options) (*Checker, error) {
	for flag, name := range map[string]string{"--operator": o.Operator, "--service-account": o.ServiceAccount} {
		if name == "" {
			continue
		}
		if namespace, rest, ok := strings.Cut(name, "/"); !ok || namespace == "" || rest == "" || strings.Contains(rest, "/") {
			return nil, fmt.Errorf("%s is %q, but must be NAMESPACE/NAME", flag, name)
		}
	}
	reader, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	reviews, err := authorizationv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for access reviews: %w", err)
	}
	return &Checker{reader: reader, reviews: reviews.SubjectAccessReviews(), options: o, page: pageSize}, nil
}

// Run reads the cluster. progress, which may be nil, gets a line for each step. The error names what could not be read; without the CRDs or
// the objects there is no verdict.
func (c *Checker) Run(ctx context.Context, progress func(string)) (*Report, error) {
	if progress == nil {
		progress = func(string) {}
	}
	r := newReport()
	progress("reading the CRDs")
	if err := c.checkCRDs(ctx, r); err != nil {
		return nil, err
	}
	progress("reading the running operator")
	if err := c.checkOperators(ctx, r); err != nil {
		return nil, err
	}
	back := newBackCounter()
	for _, checks := range validation.AllChecks() {
		progress("reading objects of the kind " + checks.Kind)
		if err := c.checkObjects(ctx, r, checks, back); err != nil {
			return nil, err
		}
	}
	progress("asking for rights")
	if err := c.checkRights(ctx, r); err != nil {
		return nil, err
	}
	back.report(r)
	return r, nil
}

// rayResource is the resource of a kind of Ray.
func rayResource(kind string) schema.GroupVersionResource {
	return rayv1.GroupVersion.WithResource(strings.ToLower(kind) + "s")
}

// each calls do for every object of a resource, page by page. A resource that is not served has none.
func (c *Checker) each(ctx context.Context, resource schema.GroupVersionResource, namespace string, do func(*unstructured.Unstructured)) error {
	options := metav1.ListOptions{Limit: c.page}
	for {
		var client dynamic.ResourceInterface = c.reader.Resource(resource)
		if namespace != "" {
			client = c.reader.Resource(resource).Namespace(namespace)
		}
		page, err := client.List(ctx, options)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case apierrors.IsResourceExpired(err):
			// The list's resourceVersion expired. Continue at the same key with a newer version, if the server offers one.
			if options.Continue = continueToken(err); options.Continue != "" {
				continue
			}
			fallthrough
		case err != nil:
			return fmt.Errorf("listing %s: %w", resource.Resource, err)
		}
		for i := range page.Items {
			do(&page.Items[i])
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// continueToken is the token in the answer to an expired page token.
func continueToken(err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return ""
	}
	return status.ErrStatus.Continue
}

// get reads one object into a type; it reports false if there is none.
func (c *Checker) get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, into any) (bool, error) {
	var client dynamic.ResourceInterface = c.reader.Resource(resource)
	if namespace != "" {
		client = c.reader.Resource(resource).Namespace(namespace)
	}
	u, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into)
	}
	if err != nil {
		return false, fmt.Errorf("reading %s %s: %w", resource.Resource, name, err)
	}
	return true, nil
}
