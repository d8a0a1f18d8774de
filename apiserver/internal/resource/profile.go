package resource

import (
	"context"

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
