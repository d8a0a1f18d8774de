package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func validateAuth(c *cluster, path *field.Path) field.ErrorList {
	o := c.spec.AuthOptions
	if o == nil {
		return nil
	}
	authPath := path.Child("authOptions")
	var errs field.ErrorList
	if o.Mode != "" {
		errs = append(errs, notIn("RC-006", authPath.Child("mode"), o.Mode, rayv1.AuthModeDisabled, rayv1.AuthModeToken)...)
	}
	byKubernetes := isTrue(o.EnableK8sTokenAuth)
	if !c.tokenAuth {
		if byKubernetes {
			errs = append(errs, invalid("RC-096", authPath.Child("mode"), string(o.Mode), "must be token with enableK8sTokenAuth"))
		}
		return errs
	}
	errs = append(errs, validateAuthVersion(c.spec.RayVersion, byKubernetes, path.Child("rayVersion"))...)
	if byKubernetes && o.SecretName != nil && *o.SecretName != "" {
		errs = append(errs, invalid("RC-095", authPath.Child("secretName"), *o.SecretName, "is not used with enableK8sTokenAuth; keep one of the two"))
	}
	return errs
}

// validateAuthVersion names the later of two releases only when the earlier one is there.
func validateAuthVersion(text string, byKubernetes bool, path *field.Path) field.ErrorList {
	errs := validateRayVersion(text, path, rayWithTokenAuth, "authOptions.mode token", [3]string{"RC-091", "RC-092", "RC-093"})
	if len(errs) > 0 || !byKubernetes {
		return errs
	}
	return validateRayVersion(text, path, rayWithK8sTokenAuth, "authOptions.enableK8sTokenAuth", [3]string{"RC-091", "RC-092", "RC-094"})
}

func warnAuth(c *cluster, path *field.Path) field.ErrorList {
	if o := c.spec.AuthOptions; o != nil && o.Mode == "" {
		return field.ErrorList{required("RC-572", path.Child("authOptions", "mode"), "unset means disabled; set token to demand a token, or disabled to be clear")}
	}
	return nil
}
