package serveplan

import "time"

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
		u.rescue(&m)
		m.Waits = "the new cluster takes no requests; the old one gets them"
	case u.ActiveDown && !u.PendingDown:
		u.replace(&m)
	default:
		u.forward(&m)
	}
	return m
}

func (u Upgrade) forward(m *Move) {
	switch {
	case u.PendingCapacity != u.PendingTraffic:
		if u.PendingWaits != "" {
			m.Waits = u.PendingWaits
			return
		}
		if u.mayMove(m) {
			m.PendingTraffic = min(100, u.PendingTraffic+u.Step, u.PendingCapacity)
		}
	case u.Unrouted != "":
		m.Waits = u.Unrouted
	case u.PendingTraffic == 100 && u.ServiceWaits != "":
		m.Waits = u.ServiceWaits
	case u.ActiveCapacity+u.PendingCapacity > 100:
		if u.drained(m) {
			m.ActiveCapacity = max(u.activeTraffic(), u.ActiveCapacity-u.Surge)
		}
	case !u.PendingDeployed:
		m.Waits = "the new cluster has no applications yet"
	default:
		m.PendingCapacity = min(100, u.PendingCapacity+u.Surge)
	}
	u.stuck(m)
}

func (u Upgrade) backward(m *Move) {
	if u.ActiveCapacity == 100 && u.PendingTraffic == 0 && (u.PendingDown || u.PendingGone || u.PendingCapacity == 0) {
		m.RolledBack = true
		return
	}
	if u.PendingDown && !u.ActiveDown {
		u.rescue(m)
		return
	}
	switch {
	case u.activeTraffic() != u.ActiveCapacity:
		if u.ActiveWaits != "" {
			m.Waits = u.ActiveWaits
			return
		}
		if u.mayMove(m) {
			m.PendingTraffic = 100 - min(100, u.activeTraffic()+u.Step, u.ActiveCapacity)
		}
	case u.Unrouted != "":
		m.Waits = u.Unrouted
	case u.ActiveCapacity+u.PendingCapacity > 100:
		if u.drained(m) {
			m.PendingCapacity = max(u.PendingTraffic, u.PendingCapacity-u.Surge) // KubeRay takes capacity that has traffic
		}
	default:
		m.ActiveCapacity = min(100, u.ActiveCapacity+u.Surge)
	}
	u.stuck(m)
}

// rescue gives the old cluster all, without steps: what the new one gets is lost. With KubeRay an upgrade and a rollback wait for a
// cluster for ever that will not come back. Capacity follows the traffic: the head that has to be asked for it may be away.
func (u Upgrade) rescue(m *Move) {
	switch {
	case u.PendingTraffic > 0:
		m.PendingTraffic = 0
	case u.ActiveCapacity < 100:
		m.ActiveCapacity = 100
	default:
		m.Waits = "the new cluster takes no requests"
	}
}

// replace gives the new cluster all, without steps: what the old one gets is lost.
func (u Upgrade) replace(m *Move) {
	switch {
	case u.PendingTraffic < 100:
		m.PendingTraffic = 100
	case u.PendingCapacity < 100:
		m.PendingCapacity = 100
	default:
		m.Waits = u.ServiceWaits
		return
	}
	m.Waits = "the old cluster takes no requests; the new one gets them"
}

// mayMove reports whether traffic can be moved now.
func (u Upgrade) mayMove(m *Move) bool {
	if u.Unrouted != "" {
		m.Waits = u.Unrouted
		return false
	}
	return u.drained(m)
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

// stuck says so when the options of the user lead nowhere.
func (u Upgrade) stuck(m *Move) {
	if m.Shares == u.Shares && m.Waits == "" {
		m.Waits = "maxSurgePercent or stepSizePercent is 0"
	}
}
