package metadata

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// This file is about updates by someone who does not know the object: a client of an older API version, and a person who
// edits what a controller owns.

// lostInV1alpha1 are the fields of v1 that v1alpha1 lacks, by the kind they are in, as paths below the spec. A star
// stands for the items of a list.
var (
	clusterFieldsOfV1 = []string{"upgradeStrategy", "authOptions", "managedBy", "gcsFaultToleranceOptions", "historyServerOptions", "networkPolicy", "tlsOptions",
		"autoscalerOptions.version", "autoscalerOptions.command", "autoscalerOptions.args",
		"headGroupSpec.resources", "headGroupSpec.labels", "headGroupSpec.ingressOptions",
		"workerGroupSpecs.*.suspend", "workerGroupSpecs.*.idleTimeoutSeconds", "workerGroupSpecs.*.priority", "workerGroupSpecs.*.resources",
		"workerGroupSpecs.*.labels", "workerGroupSpecs.*.numOfHosts"}
	jobFieldsOfV1 = []string{"activeDeadlineSeconds", "backoffLimit", "submitterConfig", "managedBy", "deletionStrategy", "submissionMode", "preRunningDeadlineSeconds"}

	serviceFieldsOfV1 = []string{"rayClusterDeletionDelaySeconds", "upgradeStrategy", "managedBy", "excludeHeadPodFromServeSvc", "suspend"}
)

const versionV1alpha1 = "v1alpha1"

var x501 = rule.New(rule.Rule{ID: "X-501", Kind: rule.KindAny, Field: "apiVersion", Condition: "a write by v1alpha1 removes fields that only v1 has", Transition: true})

// CheckLostFields tells what a write by an old client took away, which it did not know to be there.
func CheckLostFields(out *rule.Report, object, old Object, o rule.Options) {
	if o.RequestVersion != versionV1alpha1 {
		return
	}
	var fields []string
	switch object.(type) {
	case *rayv1.RayCluster:
		fields = under("spec", clusterFieldsOfV1)
	case *rayv1.RayJob:
		fields = append(under("spec", jobFieldsOfV1), under("spec.rayClusterSpec", clusterFieldsOfV1)...)
	case *rayv1.RayService:
		fields = append(under("spec", serviceFieldsOfV1), under("spec.rayClusterConfig", clusterFieldsOfV1)...)
	}
	before, after := generic(old), generic(object)
	var lost []string
	for _, f := range fields {
		if gone(before, after, strings.Split(f, ".")) {
			lost = append(lost, strings.ReplaceAll(f, ".*", "[*]"))
		}
	}
	if len(lost) == 0 {
		return
	}
	out.Forbidden(x501, field.NewPath("apiVersion"), "the write by "+rayv1.GroupVersion.Group+"/"+versionV1alpha1+" removes "+strings.Join(lost, ", ")+"; use "+rayv1.GroupVersion.String())
}

func under(root string, fields []string) []string {
	full := make([]string, len(fields))
	for i, f := range fields {
		full[i] = root + "." + f
	}
	return full
}

func generic(object any) any {
	data, err := json.Marshal(object)
	var m any
	if err != nil || json.Unmarshal(data, &m) != nil {
		return nil
	}
	return m
}

// gone reports whether the field was there before, with more than its default, and is not there after.
func gone(before, after any, path []string) bool {
	if len(path) == 0 {
		return !isDefault(before) && isDefault(after)
	}
	if path[0] != "*" {
		b, _ := before.(map[string]any)
		a, _ := after.(map[string]any)
		return b != nil && gone(b[path[0]], a[path[0]], path[1:])
	}
	b, _ := before.([]any)
	a, _ := after.([]any)
	groups := map[any]any{}
	for _, item := range a {
		if g, ok := item.(map[string]any); ok {
			groups[g["groupName"]] = item
		}
	}
	return slices.ContainsFunc(b, func(item any) bool {
		g, ok := item.(map[string]any)
		if !ok {
			return false
		}
		other, kept := groups[g["groupName"]]
		return kept && gone(item, other, path[1:])
	})
}

// isDefault reports whether the value is what the API server fills in for an absent field.
func isDefault(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case float64:
		return v == 0 || v == 1
	case string:
		return v == "" || v == string(rayv1.K8sJobMode)
	case bool:
		return !v
	case map[string]any:
		return len(v) == 0
	}
	return false
}
