package serveplan

import (
	"slices"
	"time"
)

// Shares are capacity and traffic of the two clusters of an upgrade in steps, in percent. The traffic of both is 100.
type Shares struct{ ActiveCapacity, PendingCapacity, PendingTraffic int32 }

func (s Shares) activeTraffic() int32 { return 100 - s.PendingTraffic }

// Upgrade is an upgrade in steps at one moment. The active cluster is the old one, the pending cluster the new one.
type Upgrade struct {
	Shares
	// Surge, Step and Interval are the options of the user: the capacity that is added at once, the traffic that is moved at once, and the
	// least time between two moves.
	Surge, Step int32
	Interval    time.Duration
	// Rollback is the direction: the old cluster takes over again. Otherwise the new one takes over.
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
	// ActiveServesNothing and PendingServesNothing say that no Pod of the cluster takes requests.
	ActiveServesNothing, PendingServesNothing bool
	// PendingHasNoHead says that the head of the new cluster is not ready.
	PendingHasNoHead bool
}

// Move is the next change of an upgrade in steps.
type Move struct {
	// Rule names the rule that decided.
	Rule string
	// Shares are to be reached next; those of the Upgrade where nothing changes.
	Shares
	// Complete says that the new cluster has all, and RolledBack that the old one has.
	Complete, RolledBack bool
	// Waits says what the upgrade waits for; empty if it does not.
	Waits string
	// After is when to look again even if no watch event comes; zero for never.
	After time.Duration
}

// upgradeRule is one line of an upgrade in steps.
type upgradeRule struct {
	name string
	when func(Upgrade) bool
	move func(Upgrade) Move
}

// forward and backward are the rules of both directions, in the order in which they are tried. A cluster that alone serves gets everything,
// without steps: the share of the other one is lost. With KubeRay an upgrade and a rollback wait for ever for a cluster that will not come
// back.
var (
	forward = slices.Concat([]upgradeRule{
		{"Complete", newHasAll, complete},
		{"FailOverToOld", oldHasToServeAlone, failOverToOld},
		{"FailOverToNew", onlyNewServes, failOverToNew},
	}, steps)
	backward = slices.Concat([]upgradeRule{
		{"RolledBack", oldHasAll, rolledBack},
		{"FailOverToOld", onlyOldServes, oldTakesAll},
	}, steps)
	// steps move traffic and capacity from the cluster that gives to the one that takes over. No cluster loses capacity that it has traffic
	// for, as it does with KubeRay in a rollback.
	steps = []upgradeRule{
		{"TakerNotReady", takerNotReady, awaitTaker},
		{"Unrouted", unrouted, awaitRoute},
		{"ServiceBehind", serviceBehind, awaitService},
		{"ConnectionsNotDrained", connectionsNotDrained, awaitInterval},
		{"MoveTraffic", trafficDue, moveTraffic},
		{"ReduceGiver", capacityToSpare, reduceGiver},
		{"NotDeployed", notDeployed, awaitDeployment},
		{"RaiseTaker", func(Upgrade) bool { return true }, raiseTaker},
	}
)

// Next is the next change: the first rule that applies decides. There is one change at a time, so that each is seen to have its effect before
// the other cluster loses what it has.
func (u Upgrade) Next() Move {
	rules := forward
	if u.Rollback {
		rules = backward
	}
	i := slices.IndexFunc(rules, func(r upgradeRule) bool { return r.when(u) })
	m := rules[i].move(u)
	m.Rule = rules[i].name
	if m.Shares == u.Shares && m.Waits == "" && !m.Complete && !m.RolledBack { // the options of the user lead nowhere
		m.Waits = "maxSurgePercent or stepSizePercent is 0"
	}
	return m
}

// newHasAll also holds for an old cluster that serves nothing: it has no capacity, and may never say that it has less.
func newHasAll(u Upgrade) bool {
	oldIsDone := u.ActiveCapacity == 0 || u.ActiveServesNothing && u.PendingCapacity == 100 && u.ServiceWaits == ""
	return u.PendingTraffic == 100 && oldIsDone
}

func complete(u Upgrade) Move { return Move{Shares: u.Shares, Complete: true} }

func oldHasAll(u Upgrade) bool {
	newIsDone := u.PendingCapacity == 0 || u.PendingServesNothing || u.PendingHasNoHead
	return u.ActiveCapacity == 100 && u.PendingTraffic == 0 && newIsDone
}

func rolledBack(u Upgrade) Move { return Move{Shares: u.Shares, RolledBack: true} }

func onlyOldServes(u Upgrade) bool { return u.PendingServesNothing && !u.ActiveServesNothing }

func onlyNewServes(u Upgrade) bool { return u.ActiveServesNothing && !u.PendingServesNothing }

// oldHasToServeAlone leaves alone a new cluster that has no traffic yet: that is how each begins.
func oldHasToServeAlone(u Upgrade) bool {
	return onlyOldServes(u) && (u.PendingTraffic > 0 || u.activeTraffic() > u.ActiveCapacity)
}

func failOverToOld(u Upgrade) Move {
	m := oldTakesAll(u)
	m.Waits = "the new cluster takes no requests; the old one gets them"
	return m
}

// oldTakesAll moves the traffic first: the head that has to be asked for more capacity may be away.
func oldTakesAll(u Upgrade) Move {
	m := Move{Shares: u.Shares}
	if u.PendingTraffic == 0 {
		m.ActiveCapacity = 100
	}
	m.PendingTraffic = 0
	return m
}

// failOverToNew moves the traffic first, as oldTakesAll.
func failOverToNew(u Upgrade) Move {
	m := Move{Shares: u.Shares, Waits: "the old cluster takes no requests; the new one gets them"}
	switch {
	case u.PendingTraffic != 100:
		m.PendingTraffic = 100
	case u.PendingCapacity < 100:
		m.PendingCapacity = 100
	default:
		m.Waits = u.ServiceWaits
	}
	return m
}

// side is one of the clusters in its part of the upgrade.
type side struct {
	capacity, traffic int32
	waits             string
}

// taker is the cluster that takes over, and giver the other one.
func (u Upgrade) taker() side {
	if u.Rollback {
		return side{u.ActiveCapacity, u.activeTraffic(), u.ActiveWaits}
	}
	return side{u.PendingCapacity, u.PendingTraffic, u.PendingWaits}
}

func (u Upgrade) giver() side {
	u.Rollback = !u.Rollback
	return u.taker()
}

// set is the move to these shares.
func (u Upgrade) set(taker, giver, traffic int32) Move {
	if u.Rollback {
		return Move{Shares: Shares{ActiveCapacity: taker, PendingCapacity: giver, PendingTraffic: 100 - traffic}}
	}
	return Move{Shares: Shares{ActiveCapacity: giver, PendingCapacity: taker, PendingTraffic: traffic}}
}

func (u Upgrade) wait(text string) Move { return Move{Shares: u.Shares, Waits: text} }

// trafficDue reports whether the cluster that takes over has other traffic than it has capacity for.
func trafficDue(u Upgrade) bool { return u.taker().traffic != u.taker().capacity }

func moveTraffic(u Upgrade) Move {
	t := u.taker()
	return u.set(t.capacity, u.giver().capacity, min(100, t.traffic+u.Step, t.capacity))
}

func takerNotReady(u Upgrade) bool { return trafficDue(u) && u.taker().waits != "" }

func awaitTaker(u Upgrade) Move { return u.wait(u.taker().waits) }

func unrouted(u Upgrade) bool { return u.Unrouted != "" }

func awaitRoute(u Upgrade) Move { return u.wait(u.Unrouted) }

// serviceBehind keeps the last replicas of the old cluster for the clients of the Service.
func serviceBehind(u Upgrade) bool {
	return !u.Rollback && !trafficDue(u) && u.PendingTraffic == 100 && u.ServiceWaits != ""
}

func awaitService(u Upgrade) Move { return u.wait(u.ServiceWaits) }

// intervalLeft is what is left of the interval since the last move.
func (u Upgrade) intervalLeft() time.Duration {
	if u.Shifted.IsZero() {
		return 0
	}
	return max(0, u.Interval-u.Now.Sub(u.Shifted))
}

// connectionsNotDrained also holds back capacity that lost its traffic: data planes learn of weights later than the API server.
func connectionsNotDrained(u Upgrade) bool {
	return (trafficDue(u) || capacityToSpare(u)) && u.intervalLeft() > 0
}

func awaitInterval(u Upgrade) Move {
	m := u.wait("the interval between two moves is not over")
	m.After = u.intervalLeft()
	return m
}

func capacityToSpare(u Upgrade) bool { return u.ActiveCapacity+u.PendingCapacity > 100 }

func reduceGiver(u Upgrade) Move {
	t, g := u.taker(), u.giver()
	return u.set(t.capacity, max(g.traffic, g.capacity-u.Surge), t.traffic)
}

// notDeployed does not count in a rollback, since the old cluster keeps its configuration.
func notDeployed(u Upgrade) bool { return !u.Rollback && !u.PendingDeployed }

func awaitDeployment(u Upgrade) Move { return u.wait("the new cluster has no applications yet") }

func raiseTaker(u Upgrade) Move {
	t := u.taker()
	return u.set(min(100, t.capacity+u.Surge), u.giver().capacity, t.traffic)
}
