package serveplan

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/utils/ptr"
)

// Shares are capacity and traffic of the two clusters of an incremental upgrade, in percent. The traffic of both adds up to 100.
type Shares struct{ ActiveCapacity, PendingCapacity, PendingTraffic int32 }

func (s Shares) activeTraffic() int32 { return 100 - s.PendingTraffic }

// Upgrade is the state of an incremental upgrade. The active cluster is the old one, the pending cluster the new one.
type Upgrade struct {
	Shares
	// Surge, Step and Interval are the user's options: the capacity that is added at once, the traffic that is moved at once, and
	// the minimum time between two moves.
	Surge, Step int32
	Interval    time.Duration
	// Rollback is set if traffic moves back to the old cluster.
	Rollback bool
	// Now is the current time, and Shifted when traffic was last moved; zero if never.
	Now, Shifted time.Time
	// Unrouted is why traffic cannot be moved, because the Gateway or the HTTPRoute is not accepted; empty if it can.
	Unrouted string
	// ActiveWaits and PendingWaits are why a cluster cannot serve more traffic yet. They are empty if all applications run with all
	// replicas at the current capacity.
	ActiveWaits, PendingWaits string
	// ServiceWaits is why the old cluster still gets requests from clients that do not use the Gateway; empty if it does not. It
	// keeps its last replicas for them.
	ServiceWaits string
	// PendingDeployed means that the new cluster has the configuration in the spec.
	PendingDeployed bool
	// ActiveServesNothing and PendingServesNothing mean that no Pod of the cluster serves requests.
	ActiveServesNothing, PendingServesNothing bool
	// PendingHasNoHead means that the head of the new cluster is not ready.
	PendingHasNoHead bool
	// Held is why the upgrade must neither move nor end, unless a cluster serves nothing; empty if it may.
	Held string
	// Canary limits capacity and traffic of the new cluster in percent, until they are confirmed; nil means no limit. Unconfirmed explains it.
	// Analysed means that an analysis confirms them, and not the user.
	Canary      *int32
	Unconfirmed string
	Analysed    bool
}

// Move is the next change of an incremental upgrade.
type Move struct {
	// Rule is the name of the rule that decided.
	Rule string
	// Shares are the next shares; unchanged ones equal those of the Upgrade.
	Shares
	// Complete means that the new cluster has all traffic and capacity, RolledBack that the old one has.
	Complete, RolledBack bool
	// Waits is what the upgrade waits for; empty if it does not wait. User means that it waits for its user.
	Waits string
	User  bool
	// After is the time until the next reconcile without an event; 0 for none.
	After time.Duration
}

// upgradeRule is a rule of an incremental upgrade.
type upgradeRule struct {
	name string
	when func(Upgrade) bool
	move func(Upgrade) Move
}

// forward and backward are the rules of both directions in the order of their evaluation. If only one cluster serves, it gets all
// traffic at once, because the share of the other one is lost. In KubeRay, upgrades and rollbacks wait forever for a cluster that
// does not recover.
var (
	forward = slices.Concat([]upgradeRule{
		{"Complete", newHasAll, complete},
		{"FailOverToOld", oldHasToServeAlone, failOverToOld},
		{"FailOverToNew", onlyNewServes, failOverToNew},
		{"Held", held, awaitUser},
		{"CanaryUnconfirmed", canaryReached, awaitConfirmation},
	}, steps)
	backward = slices.Concat([]upgradeRule{
		{"RolledBack", oldHasAll, rolledBack},
		{"FailOverToOld", onlyOldServes, oldTakesAll},
		{"Held", held, awaitUser},
	}, steps)
	// steps move traffic and capacity from the giving to the taking cluster. Unlike KubeRay in a rollback, no cluster loses
	// capacity for which it has traffic.
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

// Next returns the next change; the first matching rule decides. There is one change at a time, so that its effect is visible
// before the other cluster loses capacity.
func (u Upgrade) Next() Move {
	rules := forward
	if u.Rollback {
		rules = backward
	}
	i := slices.IndexFunc(rules, func(r upgradeRule) bool { return r.when(u) })
	m := rules[i].move(u)
	m.Rule = rules[i].name
	if m.Shares == u.Shares && m.Waits == "" && !m.Complete && !m.RolledBack { // the user's options allow no progress
		m.Waits = cmp.Or(u.Held, "maxSurgePercent or stepSizePercent is 0")
	}
	return m
}

// newHasAll reports whether the new cluster has everything. An old cluster that serves nothing has no capacity, although it may
// never report that.
func newHasAll(u Upgrade) bool {
	oldIsDone := u.ActiveCapacity == 0 || u.ActiveServesNothing && u.PendingCapacity == 100 && u.ServiceWaits == ""
	return u.PendingTraffic == 100 && oldIsDone && !held(u)
}

func complete(u Upgrade) Move { return Move{Shares: u.Shares, Complete: true} }

func oldHasAll(u Upgrade) bool {
	newIsDone := u.PendingCapacity == 0 || u.PendingServesNothing || u.PendingHasNoHead
	return u.ActiveCapacity == 100 && u.PendingTraffic == 0 && newIsDone && !held(u)
}

func rolledBack(u Upgrade) Move { return Move{Shares: u.Shares, RolledBack: true} }

func onlyOldServes(u Upgrade) bool { return u.PendingServesNothing && !u.ActiveServesNothing }

func onlyNewServes(u Upgrade) bool { return u.ActiveServesNothing && !u.PendingServesNothing }

// oldHasToServeAlone ignores a new cluster that has no traffic yet: every upgrade begins like that.
func oldHasToServeAlone(u Upgrade) bool {
	return onlyOldServes(u) && (u.PendingTraffic > 0 || u.activeTraffic() > u.ActiveCapacity)
}

func failOverToOld(u Upgrade) Move {
	m := oldTakesAll(u)
	m.Waits = "the new cluster takes no requests; the old one gets them"
	return m
}

// oldTakesAll moves the traffic first, because the head for the capacity request may be down.
func oldTakesAll(u Upgrade) Move {
	m := Move{Shares: u.Shares}
	if u.PendingTraffic == 0 {
		m.ActiveCapacity = 100
	}
	m.PendingTraffic = 0
	return m
}

// failOverToNew moves the traffic first, like oldTakesAll.
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

func held(u Upgrade) bool { return u.Held != "" }

func awaitUser(u Upgrade) Move { return Move{Shares: u.Shares, Waits: u.Held, User: true} }

// canaryReached also holds an upgrade that was further when the canary was asked for.
func canaryReached(u Upgrade) bool { return u.Canary != nil && u.PendingTraffic >= *u.Canary }

func awaitConfirmation(u Upgrade) Move {
	return Move{Shares: u.Shares, Waits: u.Unconfirmed, User: !u.Analysed}
}

// most returns the most capacity and traffic that the taking cluster may get.
func (u Upgrade) most() int32 {
	if u.Rollback {
		return 100
	}
	return ptr.Deref(u.Canary, 100)
}

// side is the state of one cluster in its role.
type side struct {
	capacity, traffic int32
	waits             string
}

// taker returns the taking cluster, and giver the other one.
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

// set returns the move to these shares.
func (u Upgrade) set(taker, giver, traffic int32) Move {
	if u.Rollback {
		return Move{Shares: Shares{ActiveCapacity: taker, PendingCapacity: giver, PendingTraffic: 100 - traffic}}
	}
	return Move{Shares: Shares{ActiveCapacity: giver, PendingCapacity: taker, PendingTraffic: traffic}}
}

func (u Upgrade) wait(text string) Move { return Move{Shares: u.Shares, Waits: text} }

// trafficDue reports whether the traffic of the taking cluster differs from its capacity.
func trafficDue(u Upgrade) bool { return u.taker().traffic != u.taker().capacity }

func moveTraffic(u Upgrade) Move {
	t := u.taker()
	return u.set(t.capacity, u.giver().capacity, min(u.most(), t.traffic+u.Step, t.capacity))
}

func takerNotReady(u Upgrade) bool { return trafficDue(u) && u.taker().waits != "" }

func awaitTaker(u Upgrade) Move { return u.wait(u.taker().waits) }

func unrouted(u Upgrade) bool { return u.Unrouted != "" }

func awaitRoute(u Upgrade) Move { return u.wait(u.Unrouted) }

// serviceBehind keeps the last replicas of the old cluster for clients of the Service.
func serviceBehind(u Upgrade) bool {
	return !u.Rollback && !trafficDue(u) && u.PendingTraffic == 100 && u.ServiceWaits != ""
}

func awaitService(u Upgrade) Move { return u.wait(u.ServiceWaits) }

// intervalLeft returns the rest of the interval since the last move.
func (u Upgrade) intervalLeft() time.Duration {
	if u.Shifted.IsZero() {
		return 0
	}
	return max(0, u.Interval-u.Now.Sub(u.Shifted))
}

// connectionsNotDrained also keeps capacity that lost its traffic, because data planes learn weights later than the API server.
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

// notDeployed is false in a rollback, since the old cluster keeps its configuration.
func notDeployed(u Upgrade) bool { return !u.Rollback && !u.PendingDeployed }

func awaitDeployment(u Upgrade) Move { return u.wait("the new cluster has no applications yet") }

func raiseTaker(u Upgrade) Move {
	t := u.taker()
	return u.set(min(u.most(), t.capacity+u.Surge), u.giver().capacity, t.traffic)
}
