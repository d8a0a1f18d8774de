package rayjob

import (
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/objectmap"
)

// sightings record since when this process has observed facts about RayJobs. Limits count from a sighting: clocks of heads,
// kubelets and controllers differ, and an operator that was down must observe before it decides.
type sightings struct {
	objectmap.Map[string, sighting]
}

type sighting struct {
	says string
	at   time.Time
}

// since records an observed value and returns since when it has been observed. An empty value removes the record and returns the
// zero time.
func (k *sightings) since(s *scope, about, says string) time.Time {
	if says == "" {
		k.Delete(s.job.UID, about)
		return time.Time{}
	}
	if old, _ := k.Get(s.job.UID, about); old.says == says {
		return old.at
	}
	k.Set(s.job.UID, about, sighting{says, s.now})
	return s.now
}

// absent is the sighting that no object of a kind exists. It ends with the first attempt to create one, whose result may be
// unknown.
func absent(o client.Object) string { return fmt.Sprintf("no %T", o) }
