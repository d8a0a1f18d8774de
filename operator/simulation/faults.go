package simulation

import (
	"slices"
	"time"
)

// Kinds of faults that last for a time.
const (
	faultRequests  = "requests fail"           // of the API server, before they have an effect
	faultLost      = "answers are lost"        // of the API server, after their effect
	faultAdmission = "admission refuses"       // writes, with a text that differs each time
	faultQuota     = "quota is exceeded"       // no Pod can be created
	faultWatch     = "watches lag"             // by seconds, each kind for itself
	faultNodes     = "nodes are full"          // no Pod starts
	faultDashboard = "dashboards are away"     // no answer
	faultHang      = "dashboards hang"         // until the caller gives up
	faultPosts     = "dashboards take nothing" // queries succeed, changes do not
	faultAnswers   = "dashboards lose answers" // of changes, after their effect
	faultUnreach   = "networks are cut"        // between the operator and Ray; submitters are not affected
	faultAbsent    = "no operator"
	faultGateway   = "the Gateway API is not installed"
	faultNodeDrain = "a drain awaits a budget"

	faultPrometheus = "Prometheus is away"
	faultCallers    = "there are no requests" // to the applications
)

// fault is a fault while it lasts.
type fault struct {
	kind string
	// about is the kind of object, or the cluster; empty for all.
	about string
	rate  float64
	until time.Time
}

// fault is the rate at which a fault of a kind happens now to something; 0 for none. It may be called from any goroutine.
func (w *world) fault(kind, about string) float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	var most float64
	for _, f := range w.faults {
		if f.kind == kind && (f.about == "" || f.about == about) && time.Now().Before(f.until) {
			most = max(most, f.rate)
		}
	}
	return most
}

// strikes reports whether a fault that happens at a rate happens to something now. name is that of the stream of choices.
func (w *world) strikes(kind, about, name string) bool {
	rate := w.fault(kind, about)
	return rate > 0 && w.chance(name, rate)
}

// recently reports whether there was a fault of a kind a while ago, or is one.
func (w *world) recently(kind string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.faults, func(f fault) bool { return f.kind == kind && time.Since(f.until) < memory })
}

// begins has a fault last for a time.
func (w *world) begins(kind, about string, rate float64, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fault{kind: kind, about: about, rate: rate, until: time.Now().Add(d)})
}
