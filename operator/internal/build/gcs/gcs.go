// Package gcs decides where the head stores GCS metadata, so that a restarted head finds it. Builders and the controller share
// this decision.
package gcs

import (
	"slices"
	"strings"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// EnvStorageNamespace is the variable from which Ray reads the prefix of its keys in Redis.
const EnvStorageNamespace = "RAY_external_storage_namespace"

// Backend returns the backend of GCS fault tolerance from the options or the older annotation, which always means Redis. Empty if
// it is off.
func Backend(rc *rayv1.RayCluster) rayv1.GcsFaultToleranceBackend {
	o := rc.Spec.GcsFaultToleranceOptions
	switch {
	case o != nil && o.Backend == rayv1.GcsFTBackendRocksDB:
		return rayv1.GcsFTBackendRocksDB
	case o != nil || strings.EqualFold(rc.Annotations[rayv1.AnnotationFTEnabled], "true"):
		return rayv1.GcsFTBackendRedis
	}
	return ""
}

// StorageNamespace returns the prefix of the cluster's keys in Redis. The default is the UID, so that a recreated cluster does not
// find metadata of its predecessor. The user's variable takes precedence, because the head uses it; KubeRay ignores it when it
// writes the annotation.
func StorageNamespace(rc *rayv1.RayCluster) string {
	if ns, ok := headVariable(rc, EnvStorageNamespace); ok {
		return ns
	}
	if o := rc.Spec.GcsFaultToleranceOptions; o != nil && o.ExternalStorageNamespace != "" {
		return o.ExternalStorageNamespace
	}
	if ns, ok := rc.Annotations[rayv1.AnnotationExternalStorageNamespace]; ok {
		return ns
	}
	return string(rc.UID)
}

// headVariable returns a variable that the user set as text in the Ray container of the head.
func headVariable(rc *rayv1.RayCluster, name string) (string, bool) {
	containers := rc.Spec.HeadGroupSpec.Template.Spec.Containers
	if len(containers) == 0 {
		return "", false
	}
	for _, v := range slices.Backward(containers[0].Env) { // the last of a name counts
		if v.Name == name {
			return v.Value, v.ValueFrom == nil
		}
	}
	return "", false
}
