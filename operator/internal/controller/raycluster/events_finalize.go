package raycluster

import (
	"cmp"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/gcs"
	"github.com/raygate/raygate/operator/internal/report"
)

func eventForceDeleted(rc *rayv1.RayCluster, age time.Duration) report.Event {
	return report.Warning("ForceDeletedStuckCluster", actionCleanup, fmt.Sprintf(
		"Let the cluster go %s after its deletion although Redis was not emptied; its metadata is left in the storage namespace %s",
		age.Round(time.Second), gcs.StorageNamespace(rc)))
}

func eventCleanUpFailed(rc *rayv1.RayCluster, j *batchv1.Job) report.Event {
	why := "its Pod failed"
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobFailed || c.Type == batchv1.JobFailureTarget) {
			why = cmp.Or(c.Message, c.Reason, why)
		}
	}
	return report.Warning("RedisCleanupFailed", actionCleanup, fmt.Sprintf(
		"Let the cluster go although Job %s could not empty Redis (%s); its metadata is left in the storage namespace %s",
		j.Name, why, gcs.StorageNamespace(rc)))
}

// eventCleanUpSkipped is none for a cluster whose metadata never was in Redis, as far as anybody knows.
func eventCleanUpSkipped(rc *rayv1.RayCluster, why string) report.Event {
	if gcs.Backend(rc) == rayv1.GcsFTBackendRocksDB {
		return report.Event{}
	}
	return report.Warning("RedisCleanupSkipped", actionCleanup, fmt.Sprintf(
		"Let the cluster go without emptying Redis, because %s; metadata may be left in the storage namespace %s", why, gcs.StorageNamespace(rc)))
}
