package resource

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/profile"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Profiles finds the profile that an object of a namespace names.
type Profiles interface {
	Get(ctx context.Context, namespace, name string) (*profile.Profile, error)
}

// addProfile adds to the object of a request what it lacks of the profile that its label names.
func (r *Resource) addProfile(ctx context.Context, in *input) error {
	name := in.typed.GetLabels()[rayv1.LabelProfile]
	if name == "" || r.Profiles == nil {
		return nil
	}
	if !allUnknown(in.form) {
		return malformed(in.form, nil)
	}
	cluster := r.Cluster
	runsOn := append(cluster[:len(cluster)-1:len(cluster)-1], "clusterSelector")
	if selector, _, _ := unstructured.NestedMap(in.tree, runsOn...); len(selector) > 0 {
		return rpcstatus.BadField("metadata.labels["+rayv1.LabelProfile+"]", "%q is for a new cluster, but clusterSelector has the job run on one that exists: leave out one of the two", name)
	}
	p, err := r.Profiles.Get(ctx, in.key.Namespace, name)
	if err != nil {
		return err
	}
	errs := p.Apply(in.tree, cluster...)
	if len(errs) > 0 {
		return rpcstatus.Invalid(violations(errs))
	}
	in.form, in.typed = nil, r.Checks.New()
	in.decode()
	return nil
}

// checkLocks refuses a change of a locked field of the profile that the changed object names.
func (r *Resource) checkLocks(ctx context.Context, namespace string, before, after map[string]any) error {
	name := profileOf(after)
	if name == "" || r.Profiles == nil {
		return nil
	}
	p, err := r.Profiles.Get(ctx, namespace, name)
	if name == profileOf(before) && isUnusable(err) {
		return nil // it was deleted or broken since: the object must stay changeable
	}
	if err != nil {
		return err
	}
	if errs := p.Check(before, after, r.Cluster...); len(errs) > 0 {
		return rpcstatus.Invalid(violations(errs))
	}
	return nil
}

func profileOf(tree map[string]any) string {
	name, _, _ := unstructured.NestedString(tree, "metadata", "labels", rayv1.LabelProfile)
	return name
}

// isUnusable reports whether there is no such profile, or none that can be used.
func isUnusable(err error) bool {
	var unknown *rpcstatus.InvalidError
	var broken *rpcstatus.Error
	return errors.As(err, &unknown) || errors.As(err, &broken) && broken.Code == codes.FailedPrecondition
}
