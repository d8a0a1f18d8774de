package serveplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Probe is the state of the Serve proxy on a head. The zero value means that it has not been asked yet.
type Probe struct {
	// AskedAt is when the request for Healthy was sent; zero for none.
	AskedAt time.Time
	Healthy bool
	// FailingSince is the time of the first consecutive failure, and FailedAt when the last failed request was sent.
	FailingSince, FailedAt time.Time
}

// ServeLabel returns the value for the label ray.io/serve of a head; empty to keep the current one. After one failure the proxy is
// asked again before its head loses requests, because a single timeout says little.
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
