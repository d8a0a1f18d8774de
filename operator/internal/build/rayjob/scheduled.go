package rayjob

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// Scheduled builds the RayJob that a RayCronJob makes for a time of its schedule. Its name follows from that time, so that
// it is made once, whoever tries. Labels and annotations of the RayCronJob stay with it.
func Scheduled(cron *rayv1.RayCronJob, tick time.Time) *rayv1.RayJob {
	return &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{
			Name:            names.CronRun(cron.Name, tick),
			Namespace:       cron.Namespace,
			Labels:          map[string]string{rayv1.LabelCronJobName: cron.Name},
			Annotations:     map[string]string{rayv1.AnnotationCronJobScheduledTimestamp: tick.UTC().Format(time.RFC3339)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cron, rayv1.GroupVersion.WithKind("RayCronJob"))},
		},
		Spec: *cron.Spec.JobTemplate.DeepCopy(),
	}
}
