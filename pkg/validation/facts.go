package validation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// RayClusterFacts returns the problems of a RayCluster that o.Facts tell of, errors and warnings, and no others. Each
// concerns a single child of the cluster, so that a controller can tell of them and go on with the rest. RayCluster and
// RayClusterWarningList include them.
func RayClusterFacts(rc *rayv1.RayCluster, o Options) field.ErrorList {
	if rc == nil || o.Facts == nil {
		return nil
	}
	c, path := newCluster(&rc.Spec, &rc.ObjectMeta, o), field.NewPath("spec")
	return append(validateFacts(c, path), warnFacts(c, path)...)
}

// validateFacts compares the spec with what the controller has seen around it.
func validateFacts(c *cluster, path *field.Path) field.ErrorList {
	f := c.options.Facts
	if f == nil {
		return nil
	}
	var errs field.ErrorList
	for i := range c.spec.WorkerGroupSpecs {
		g := &c.spec.WorkerGroupSpecs[i]
		if wanted, known := f.WantedPods[g.GroupName]; known && g.NumOfHosts > 1 && wanted%int64(g.NumOfHosts) != 0 {
			errs = append(errs, invalid(RuleUnevenReplicas, path.Child("workerGroupSpecs").Index(i).Child("numOfHosts"), g.NumOfHosts,
				fmt.Sprintf("must divide the Pods of the group, which are %d; this is a fault of the operator, please report it", wanted)))
		}
	}
	if c.spec.NetworkPolicy != nil {
		for _, name := range f.ForeignNetworkPolicies {
			errs = append(errs, forbidden(RuleNetworkPolicyNames, path.Child("networkPolicy"), fmt.Sprintf("the NetworkPolicy %q belongs to someone else; delete or rename it", name)))
		}
	}
	if account := c.spec.HeadGroupSpec.Template.Spec.ServiceAccountName; c.autoscaling && account != "" && f.ServiceAccountMissing {
		errs = append(errs, missing(RuleAutoscalerServiceAccount, path.Child("headGroupSpec", "template", "spec", "serviceAccountName"), account,
			"make a ServiceAccount of this name, or leave the field out"))
	}
	if a := c.spec.AuthOptions; c.tokenAuth && a.SecretName != nil && *a.SecretName != "" && f.AuthSecretMissing {
		errs = append(errs, missing(RuleAuthSecret, path.Child("authOptions", "secretName"), *a.SecretName, "make a Secret of this name with the token under the key auth_token"))
	}
	return errs
}

func missing(id string, path *field.Path, value any, detail string) *field.Error {
	err := field.NotFound(path, value).WithOrigin(id)
	err.Detail = detail
	return err
}

func warnFacts(c *cluster, path *field.Path) field.ErrorList {
	f := c.options.Facts
	if f == nil {
		return nil
	}
	var warnings field.ErrorList
	for i := range c.spec.WorkerGroupSpecs {
		g := &c.spec.WorkerGroupSpecs[i]
		pods, known := f.WorkerPods[g.GroupName]
		if !known {
			continue
		}
		for k, name := range g.ScaleStrategy.WorkersToDelete {
			if !slices.Contains(pods, name) {
				warnings = append(warnings, invalid(RuleWorkersToDelete, path.Child("workerGroupSpecs").Index(i).Child("scaleStrategy", "workersToDelete").Index(k), name,
					"is no Pod of this group and is left alone"))
			}
		}
	}
	return append(warnings, warnLiveClaim(c, path.Child("gcsFaultToleranceOptions", "storage"))...)
}

// warnLiveClaim tells of wishes that came after the claim was made.
func warnLiveClaim(c *cluster, path *field.Path) field.ErrorList {
	claim := c.options.Facts.Claim
	if claim == nil || !c.rocksdb || c.spec.GcsFaultToleranceOptions.Storage == nil || c.spec.GcsFaultToleranceOptions.Storage.ClaimName != "" {
		return nil
	}
	s := c.spec.GcsFaultToleranceOptions.Storage
	differs := func(name, live string) *field.Error {
		return forbidden(RuleClaim, path.Child(name), "has no effect on the PersistentVolumeClaim that exists, where it is "+live)
	}
	var warnings field.ErrorList
	if live := claim.Resources.Requests.Storage(); s.Size != nil && live.Cmp(*s.Size) != 0 {
		warnings = append(warnings, differs("size", live.String()))
	}
	if want := s.StorageClassName; want != nil {
		live := ""
		if claim.StorageClassName != nil {
			live = *claim.StorageClassName
		}
		if live != *want {
			warnings = append(warnings, differs("storageClassName", fmt.Sprintf("%q", live)))
		}
	}
	if live := claim.AccessModes; len(s.AccessModes) > 0 && !slices.Equal(sortedModes(s.AccessModes), sortedModes(live)) {
		warnings = append(warnings, differs("accessModes", fmt.Sprint(live)))
	}
	return warnings
}

func sortedModes(modes []corev1.PersistentVolumeAccessMode) []corev1.PersistentVolumeAccessMode {
	return slices.Sorted(slices.Values(modes))
}
