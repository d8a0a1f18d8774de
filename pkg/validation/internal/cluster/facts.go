package cluster

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// Facts returns only the errors and warnings of a RayCluster that follow from o.Facts.
func Facts(rc *rayv1.RayCluster, o rule.Options) field.ErrorList {
	if rc == nil || o.Facts == nil {
		return nil
	}
	out := &rule.Report{}
	checkFacts(out, New(&rc.Spec, &rc.ObjectMeta, o), field.NewPath("spec"))
	return out.Problems
}

var rc121 = rule.New(rule.Rule{ID: "RC-121", Field: "workerGroupSpecs[i].numOfHosts", Condition: "does not divide the Pods that the operator counted for the group", Peer: rule.ByStep, Depends: "other objects", Layers: rule.ControllerOnly})
var rc122 = rule.New(rule.Rule{ID: "RC-122", Field: "networkPolicy", Condition: "a NetworkPolicy that the cluster needs belongs to someone else", Peer: rule.ByStep, Depends: "other objects", Layers: rule.ControllerOnly})
var rc123 = rule.New(rule.Rule{ID: "RC-123", Field: "headGroupSpec.template.spec.serviceAccountName", Condition: "does not exist, with autoscaling", Peer: rule.ByStep, Depends: "other objects", Layers: rule.ControllerOnly,
	Remedy: "make a ServiceAccount of this name, or leave the field out"})
var rc124 = rule.New(rule.Rule{ID: "RC-124", Field: "authOptions.secretName", Condition: "the Secret does not exist or has no key auth_token", Peer: rule.ByStep, Depends: "other objects", Layers: rule.ControllerOnly,
	Remedy: "make a Secret of this name with the token under the key auth_token"})

// checkFacts compares the spec with the facts that the controller has about other objects.
func checkFacts(out *rule.Report, c *Spec, path *field.Path) {
	f := c.Options.Facts
	if f == nil {
		return
	}
	checkGroupFacts(out, c, path)
	if c.Spec.NetworkPolicy != nil {
		for _, name := range f.ForeignNetworkPolicies {
			out.Forbidden(rc122, path.Child("networkPolicy"), fmt.Sprintf("the NetworkPolicy %q belongs to someone else; delete or rename it", name))
		}
	}
	account := c.Spec.HeadGroupSpec.Template.Spec.ServiceAccountName
	out.When(c.Autoscaling && account != "" && f.ServiceAccountMissing).NotFound(rc123, path.Child("headGroupSpec", "template", "spec", "serviceAccountName"), account)
	if a := c.Spec.AuthOptions; c.tokenAuth && a.SecretName != nil && *a.SecretName != "" && f.AuthSecretMissing {
		out.NotFound(rc124, path.Child("authOptions", "secretName"), *a.SecretName)
	}
	checkLiveClaim(out, c, path.Child("gcsFaultToleranceOptions", "storage"))
}

func checkGroupFacts(out *rule.Report, c *Spec, path *field.Path) {
	f := c.Options.Facts
	for i := range c.Spec.WorkerGroupSpecs {
		g, path := &c.Spec.WorkerGroupSpecs[i], path.Child("workerGroupSpecs").Index(i)
		if wanted, known := f.WantedPods[g.GroupName]; known && g.NumOfHosts > 1 && wanted%int64(g.NumOfHosts) != 0 {
			out.Invalid(rc121, path.Child("numOfHosts"), g.NumOfHosts, fmt.Sprintf("must divide the Pods of the group, which are %d; this is a fault of the operator, please report it", wanted))
		}
		pods, known := f.WorkerPods[g.GroupName]
		for k, name := range g.ScaleStrategy.WorkersToDelete {
			out.When(known && !slices.Contains(pods, name)).Invalid(rc511, path.Child("scaleStrategy", "workersToDelete").Index(k), name, "is no Pod of this group and is left alone")
		}
	}
}

var rc125 = rule.New(rule.Rule{ID: "RC-125", Field: "gcsFaultToleranceOptions.storage", Condition: "differs from the PersistentVolumeClaim that exists", Layers: rule.ControllerOnly})

// checkLiveClaim reports settings of the storage that differ from the existing claim and have no effect on it.
func checkLiveClaim(out *rule.Report, c *Spec, path *field.Path) {
	claim := c.Options.Facts.Claim
	if claim == nil || !c.Rocksdb || c.Spec.GcsFaultToleranceOptions.Storage == nil || c.Spec.GcsFaultToleranceOptions.Storage.ClaimName != "" {
		return
	}
	s := c.Spec.GcsFaultToleranceOptions.Storage
	differs := func(name, live string) {
		out.Forbidden(rc125, path.Child(name), "has no effect on the PersistentVolumeClaim that exists, where it is "+live)
	}
	if live := claim.Resources.Requests.Storage(); s.Size != nil && live.Cmp(*s.Size) != 0 {
		differs("size", live.String())
	}
	if live := ptr.Deref(claim.StorageClassName, ""); ptr.Deref(s.StorageClassName, live) != live {
		differs("storageClassName", fmt.Sprintf("%q", live))
	}
	wanted := slices.Sorted(slices.Values(s.AccessModes))
	if live := claim.AccessModes; len(wanted) > 0 && !slices.Equal(wanted, slices.Sorted(slices.Values(live))) {
		differs("accessModes", fmt.Sprint(live))
	}
}
