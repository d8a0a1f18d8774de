package v1

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RunMeta is the metadata of the RayJob that a RayCronJob makes for a time, by its schedule or triggered. The name counts minutes, as in demo-29401234,
// so that a run that was made already is found by its name, also one of KubeRay. Labels and annotations of the RayCronJob stay with it.
func (c *RayCronJob) RunMeta(tick time.Time) metav1.ObjectMeta {
	minute := tick.Unix() / 60
	if tick.Unix() < 0 && tick.Unix()%60 != 0 {
		minute-- // rounded down
	}
	return metav1.ObjectMeta{
		Name:            c.Name + "-" + strconv.FormatInt(minute, 10),
		Namespace:       c.Namespace,
		Labels:          map[string]string{LabelCronJobName: c.Name},
		Annotations:     map[string]string{AnnotationCronJobScheduledTimestamp: tick.UTC().Format(time.RFC3339)},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, GroupVersion.WithKind("RayCronJob"))},
	}
}
