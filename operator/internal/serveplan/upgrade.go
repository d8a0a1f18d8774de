package serveplan

import (
	"cmp"
	"time"
)

// Shares are capacity and traffic of the two clusters of an upgrade in steps, in percent. The traffic of both is 100.
type Shares struct{ ActiveCapacity, PendingCapacity, PendingTraffic int32 }

func (s Shares) activeTraffic() int32 { return 100 - s.PendingTraffic }

// Upgrade is an upgrade in steps at one moment.
type Upgrade struct {
	Shares
	// Surge, Step and Interval are the options of the user: the capacity that is added at once, the traffic that is moved at once, and the
	// least time between two moves.
	Surge, Step int32
	Interval    time.Duration
	// Rollback says that it goes back.
	Rollback bool
	// Now is the time, and Shifted when the traffic was moved last; zero if it was not.
	Now, Shifted time.Time
	// Unrouted says why traffic cannot be moved: the Gateway or the HTTPRoute is not accepted. Empty if it can.
	Unrouted string
	// ActiveWaits and PendingWaits say why a cluster cannot take more traffic yet, and empty if it can: all applications run with all
	// replicas at the capacity of now.
	ActiveWaits, PendingWaits string
	// ServiceWaits says why the old cluster still gets requests, from clients that do not know the Gateway; empty if it does not. It keeps
	// its last replicas for them.
	ServiceWaits string
	// PendingDeployed says that the new cluster has the configuration of the spec.
	PendingDeployed bool
	// PendingDown says that the new cluster does not answer requests, and PendingGone that it will not do so soon. ActiveDown is the same
	// as PendingDown of the old one.
	PendingDown, PendingGone, ActiveDown bool
}

// Move is the next change of an upgrade in steps.
type Move struct {
	// Shares are to be reached next; those of the Upgrade where nothing changes.
	Shares
	// Complete says that the new cluster has all, and RolledBack that the old one has.
	Complete, RolledBack bool
	// Waits says what the upgrade waits for; empty if it does not.
	Waits string
	// After is when to look again even if no watch event comes; zero for never.
	After time.Duration
}

// Next is the next change. There is one at a time, so that each is seen to have its effect before the other cluster loses what it has.
func (u Upgrade) Next() Move {
	m := Move{Shares: u.Shares}
	switch {
	case u.Rollback:
		u.backward(&m)
	case u.PendingTraffic == 100 && (u.ActiveCapacity == 0 || u.ActiveDown && u.PendingCapacity == 100 && u.ServiceWaits == ""):
		m.Complete = true // what is down has no capacity, and may never say that it has less
	case u.PendingDown && !u.ActiveDown && (u.PendingTraffic > 0 || u.activeTraffic() > u.ActiveCapacity):
		m.give(0, &m.ActiveCapacity)
		m.Waits = "the new cluster takes no requests; the old one gets them"
	case u.ActiveDown && !u.PendingDown:
		if m.Waits = u.ServiceWaits; m.give(100, &m.PendingCapacity) {
			m.Waits = "the old cluster takes no requests; the new one gets them"
		}
	default:
		u.shift(&m)
	}
	return m
}

func (u Upgrade) backward(m *Move) {
	switch {
	case u.ActiveCapacity == 100 && u.PendingTraffic == 0 && (u.PendingDown || u.PendingGone || u.PendingCapacity == 0):
		m.RolledBack = true
	case u.PendingDown && !u.ActiveDown:
		m.give(0, &m.ActiveCapacity)
	default:
		u.shift(m)
	}
}

// give gives one cluster all, without steps: what the other one gets is lost. With KubeRay an upgrade and a rollback wait for a cluster for
// ever that will not come back. Capacity follows the traffic: the head that has to be asked for it may be away. It reports whether there was
// anything left to give.
func (m *Move) give(pendingTraffic int32, capacity *int32) bool {
	if m.PendingTraffic != pendingTraffic {
		m.PendingTraffic = pendingTraffic
		return true
	}
	given := *capacity < 100
	*capacity = 100
	return given
}

// shift goes one step on from the cluster that loses to the one that gains, which in a rollback is the old one. No cluster loses capacity
// that it has traffic for, as it does with KubeRay in a rollback.
func (u Upgrade) shift(m *Move) {
	gains, loses, waits := &m.PendingCapacity, &m.ActiveCapacity, u.PendingWaits
	traffic := u.PendingTraffic // of the one that gains
	if u.Rollback {
		gains, loses, waits, traffic = loses, gains, u.ActiveWaits, u.activeTraffic()
		u.ServiceWaits, u.PendingDeployed = "", true // the old cluster keeps the Service, and its configuration
	}
	switch {
	case *gains != traffic:
		if m.Waits = cmp.Or(waits, u.Unrouted); m.Waits == "" && u.drained(m) {
			traffic = min(100, traffic+u.Step, *gains)
		}
	case u.Unrouted != "":
		m.Waits = u.Unrouted
	case traffic == 100 && u.ServiceWaits != "":
		m.Waits = u.ServiceWaits
	case *gains+*loses > 100:
		if u.drained(m) {
			*loses = max(100-traffic, *loses-u.Surge)
		}
	case !u.PendingDeployed:
		m.Waits = "the new cluster has no applications yet"
	default:
		*gains = min(100, *gains+u.Surge)
	}
	if m.PendingTraffic = traffic; u.Rollback {
		m.PendingTraffic = 100 - traffic
	}
	if m.Shares == u.Shares && m.Waits == "" { // the options of the user lead nowhere
		m.Waits = "maxSurgePercent or stepSizePercent is 0"
	}
}

// drained reports whether the interval since the last move is over. Capacity that lost its traffic waits for it as well: data planes learn
// of weights later than the API server.
func (u Upgrade) drained(m *Move) bool {
	if u.Shifted.IsZero() {
		return true
	}
	if rest := u.Interval - u.Now.Sub(u.Shifted); rest > 0 {
		m.Waits, m.After = "the interval between two moves is not over", rest
		return false
	}
	return true
}
