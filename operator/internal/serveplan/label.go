package serveplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Probe is what is known of the proxy of Ray Serve on a head. The zero value means that it was not asked yet.
type Probe struct {
	// AskedAt is when the question was sent that Healthy answers; zero for none.
	AskedAt time.Time
	Healthy bool
	// FailingSince is since when there has been no answer, and FailedAt when the last question without one was sent.
	FailingSince, FailedAt time.Time
}

// ServeLabel is the value that the label ray.io/serve of a head is to have; empty for the one that it has. A proxy that once did not
// answer is asked again before its head loses requests: a timeout alone says little.
func ServeLabel(excluded bool, p Probe) string {
	switch {
	case excluded:
		return rayv1.LabelServeFalse
	case !p.FailingSince.IsZero() && p.FailedAt.After(p.FailingSince):
		return rayv1.LabelServeFalse
	case !p.FailingSince.IsZero(), p.AskedAt.IsZero():
		return ""
	case p.Healthy:
		return rayv1.LabelServeTrue
	default:
		return rayv1.LabelServeFalse
	}
}
