package rayjob

import (
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/byowner"
)

// sightings are since when this process knows something about RayJobs. Clocks of heads, kubelets and controllers differ, and an operator that was
// away has to look before it judges: so whatever a limit counts from is a sighting.
type sightings struct{ byowner.Map[string, sighting] }

type sighting struct {
	says string
	at   time.Time
}

// since notes what is known about something now, and returns since when it is known. Nothing is known since never.
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

// absent is the sighting that there is no object of a kind. It ends with the first attempt to create one, whose outcome may stay unknown.
func absent(o client.Object) string { return fmt.Sprintf("no %T", o) }
