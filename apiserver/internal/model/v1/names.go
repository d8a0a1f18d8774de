package v1

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// The labels and annotations that KubeRay's API server writes.
const (
	labelClusterName = "ray.io/cluster-name"
	labelVersion     = "ray.io/version"
	labelEnvironment = "ray.io/environment"
	labelManagedBy   = "app.kubernetes.io/managed-by"
	managedBy        = "kuberay-apiserver"

	annotationCreated         = "ray.io/creation-timestamp"
	annotationUpdated         = "ray.io/update-timestamp"
	annotationComputeTemplate = "ray.io/compute-template"
	annotationComputeImage    = "ray.io/compute-image"
)

// hiddenPodAnnotations and hiddenPodLabels are those of bookkeeping, of the operator and of the network, which V1 clients have never seen.
var (
	hiddenPodAnnotations = []string{
		annotationComputeImage, annotationComputeTemplate, "ray.io/health-state", rayv1.AnnotationFTEnabled, "openshift.io/scc",
		"cni.projectcalico.org/podIP", "cni.projectcalico.org/podIPs", "cni.projectcalico.org/containerID",
		"k8s.v1.cni.cncf.io/network-status", "k8s.v1.cni.cncf.io/networks-status",
	}
	hiddenPodLabels = []string{
		rayv1.LabelCreatedBy, rayv1.LabelAppName, rayv1.LabelCluster, "ray.io/cluster-dashboard", rayv1.LabelGroup, rayv1.LabelIdentifier,
		rayv1.LabelIsRayNode, rayv1.LabelNodeType,
	}
)

// without returns the entries of all but those with the names; nil when nothing is left.
func without(all map[string]string, names ...string) map[string]string {
	left := maps.Clone(all)
	maps.DeleteFunc(left, func(key, _ string) bool { return slices.Contains(names, key) })
	if len(left) == 0 {
		return nil
	}
	return left
}

// setUser writes the owner of an object. A user who is not a valid label value is written to an annotation, and the valid part to the
// label.
func setUser(user string, labels, annotations map[string]string) field.ErrorList {
	label := userLabel(user)
	if label == "" {
		return field.ErrorList{field.Invalid(field.NewPath("user"), user, "has no letter and no digit that a label could hold")}
	}
	labels[rayv1.LabelUser] = label
	if label != user {
		annotations[rayv1.AnnotationUser] = user
	}
	return nil
}

// userOf returns the owner of an object.
func userOf(labels, annotations map[string]string) string {
	if user := annotations[rayv1.AnnotationUser]; user != "" && userLabel(user) == labels[rayv1.LabelUser] {
		return user
	}
	return labels[rayv1.LabelUser]
}

// userLabel returns the label value for a user, which is the user if that is one.
func userLabel(user string) string {
	if len(validation.IsValidLabelValue(user)) == 0 {
		return user
	}
	isAlphanumeric := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
	label := strings.Map(func(c rune) rune {
		if isAlphanumeric(c) || c == '.' || c == '_' {
			return c
		}
		return '-'
	}, user)
	label = label[:min(len(label), validation.LabelValueMaxLength)]
	return strings.TrimFunc(label, func(c rune) bool { return !isAlphanumeric(c) })
}
