package cluster

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rc006 = rule.New(rule.Rule{ID: "RC-006", Field: "authOptions.mode", Condition: "not disabled, token", Peer: rule.BySchema,
	Marker: rule.InSchema})
var rc095 = rule.New(rule.Rule{ID: "RC-095", Field: "authOptions.secretName", Condition: "set with enableK8sTokenAuth", Peer: rule.BySpec, Reads: []string{"authOptions"},
	Remedy: "is not used with enableK8sTokenAuth; keep one of the two",
	CEL:    []rule.CEL{{Node: "authOptions", Field: ".secretName", Reason: rule.Forbidden, Valid: "!has(self.mode) || self.mode != 'token' || !has(self.enableK8sTokenAuth) || !self.enableK8sTokenAuth || !has(self.secretName) || self.secretName == ''"}}})
var rc096 = rule.New(rule.Rule{ID: "RC-096", Field: "authOptions.mode", Condition: "not token with enableK8sTokenAuth", Peer: rule.BySpec, Reads: []string{"authOptions"},
	Remedy: "must be token with enableK8sTokenAuth",
	CEL:    []rule.CEL{{Node: "authOptions", Field: ".mode", Valid: "!has(self.enableK8sTokenAuth) || !self.enableK8sTokenAuth || (has(self.mode) && self.mode == 'token')"}}})

func checkAuth(out *rule.Report, c *Spec, path *field.Path) {
	o := c.Spec.AuthOptions
	if o == nil {
		return
	}
	authPath, byKubernetes := path.Child("authOptions"), metadata.IsTrue(o.EnableK8sTokenAuth)
	if o.Mode == "" {
		out.Required(rc572, authPath.Child("mode"))
	} else {
		rule.OneOf(out, rc006, authPath.Child("mode"), o.Mode, rayv1.AuthModeDisabled, rayv1.AuthModeToken)
	}
	if !c.tokenAuth {
		if byKubernetes {
			out.Invalid(rc096, authPath.Child("mode"), string(o.Mode))
		}
		return
	}
	// The later of two releases is named only when the earlier one is there.
	versionPath := path.Child("rayVersion")
	if checkFeatureVersion(out, c.Spec.RayVersion, versionPath, rayWithTokenAuth, "authOptions.mode token", [3]*rule.Rule{rc091, rc092, rc093}) && byKubernetes {
		checkFeatureVersion(out, c.Spec.RayVersion, versionPath, rayWithK8sTokenAuth, "authOptions.enableK8sTokenAuth", [3]*rule.Rule{rc091, rc092, rc094})
	}
	if byKubernetes && o.SecretName != nil && *o.SecretName != "" {
		out.Invalid(rc095, authPath.Child("secretName"), *o.SecretName)
	}
}

var rc091 = rule.New(rule.Rule{ID: "RC-091", Field: "rayVersion", Condition: "empty with mode token", Peer: rule.BySpec, Reads: []string{"authOptions"},
	CEL: []rule.CEL{{Field: cel.VersionField, Reason: rule.Required, Valid: "!" + cel.TokenAuth + " || " + cel.HasVersion,
		Says: cel.TokenNeeds}}})
var rc092 = rule.New(rule.Rule{ID: "RC-092", Field: "rayVersion", Condition: "not a version with mode token", Peer: rule.BySpec, Reads: []string{"authOptions"},
	CEL: []rule.CEL{{Field: cel.VersionField, Valid: "!" + cel.TokenAuth + " || !" + cel.HasVersion + " || " + cel.GoodVersion,
		NoWorse: cel.SameVersion,
		Says:    cel.TokenNeeds}}})
var rc093 = rule.New(rule.Rule{ID: "RC-093", Field: "rayVersion", Condition: "below 2.52.0 with mode token", Peer: rule.BySpec, Reads: []string{"authOptions"},
	CEL: []rule.CEL{{Field: cel.VersionField, Valid: "!" + cel.TokenAuth + " || !" + cel.HasVersion + " || !" + cel.GoodVersion + " || self.rayVersion.matches('" + cel.FromRay252 + "')",
		NoWorse: cel.SameVersion,
		Says:    cel.TokenNeeds}}})
var rc094 = rule.New(rule.Rule{ID: "RC-094", Field: "rayVersion", Condition: "below 2.55.0 with enableK8sTokenAuth", Peer: rule.BySpec, Reads: []string{"authOptions"},
	CEL: []rule.CEL{{Field: cel.VersionField, Valid: "!" + cel.TokenAuth + " || !has(self.authOptions.enableK8sTokenAuth) || !self.authOptions.enableK8sTokenAuth || !" + cel.HasVersion +
		" || !self.rayVersion.matches('" + cel.FromRay252 + "') || self.rayVersion.matches('" + cel.FromRay255 + "')",
		NoWorse: cel.SameVersion,
		Says:    cel.NeedsVersion("authOptions.enableK8sTokenAuth", "2.55.0")}}})
var rc572 = rule.New(rule.Rule{ID: "RC-572", Field: "authOptions.mode", Condition: "block present, mode unset", Remedy: "unset means disabled; set token to demand a token, or disabled to be clear",
	Policies: []rule.Policy{{Field: ".authOptions.mode", Valid: "!has(cluster.authOptions) || has(cluster.authOptions.mode)"}}})
