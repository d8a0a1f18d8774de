package serveplan

import rayv1 "github.com/raygate/raygate/api/ray/v1"

// phase is a part of the life of a RayService. It follows from the status and the clusters that exist.
type phase string

const (
	created    phase = "Created"    // it has no conditions yet
	starting   phase = "Starting"   // no cluster is active; one may be pending
	serving    phase = "Serving"    // one cluster is active
	switching  phase = "Switching"  // another one is pending, to which the Services switch at once
	advancing  phase = "Advancing"  // traffic moves to the pending cluster in steps
	returning  phase = "Returning"  // traffic moves back to the active cluster in steps
	timedOut   phase = "TimedOut"   // it was not ready in time
	suspending phase = "Suspending" // its objects are being deleted
	suspended  phase = "Suspended"  // they are gone
)

// phase returns the current phase.
func (s *step) phase() phase {
	switch {
	case s.is(rayv1.RayServiceSuspending):
		return suspending
	case s.is(rayv1.RayServiceSuspended):
		return suspended
	case len(s.st.Conditions) == 0:
		return created
	case s.timedOut():
		return timedOut
	case s.active() == nil:
		return starting
	case s.pendingName() == "":
		return serving
	case !s.in.Strategy.Steps:
		return switching
	case s.is(rayv1.RayServiceRollbackInProgress):
		return returning
	default:
		return advancing
	}
}

// rule is a transition. The first matching rule of a phase applies, then those of the phase that results, until none matches. A final rule
// ends the decision, and has made the whole plan.
type rule struct {
	name  string
	when  func(*step) bool
	do    func(*step)
	final bool
}

// maxRules limits the rules of one decision. No life has that many.
const maxRules = 8

// Rules of several phases. While a suspension is wanted or the spec is invalid, no other rule applies.
var (
	suspend     = rule{"Suspend", suspendWanted, (*step).suspend, true}
	keepInvalid = rule{"Invalid", invalid, (*step).keep, true}
)

// table is the life cycle: the rules of each phase in the order of their evaluation. A phase without a matching rule lasts.
var table = map[phase][]rule{
	created: {
		suspend,
		keepInvalid,
		{"Begin", always, (*step).begin, false},
	},
	starting: {
		suspend,
		keepInvalid,
		{"ClusterLost", rollsBack, (*step).endRollback, false},
		{"Switched", switched, (*step).makeActive, false},
		{"ClusterNeeded", needsCluster, (*step).nameCluster, false},
	},
	serving: {
		suspend,
		keepInvalid,
		{"StepsOver", rollsBack, (*step).endRollback, false},
		{"SpecDiffers", needsCluster, (*step).nameCluster, false},
	},
	switching: {
		suspend,
		keepInvalid,
		{"StrategyChanged", rollsBack, (*step).endRollback, false},
		{"Switched", switched, (*step).makeActive, false},
		{"Aborted", switchAbortDue, (*step).abortSwitch, false},
		{"TakenBack", takenBack, (*step).dropPending, false},
		{"SpecDiffers", needsCluster, (*step).nameCluster, false},
	},
	advancing: {
		suspend,
		keepInvalid,
		{"Aborted", abortDue, (*step).abortSteps, false},
		{"TakenBack", activeMatches, (*step).returnToSpec, false},
		{"SpecDiffers", pendingDiffers, (*step).returnFirst, false},
		{"Complete", newClusterHasAll, (*step).completeSteps, false},
	},
	returning: {
		suspend,
		keepInvalid,
		{"Aborted", abortDue, (*step).abortSteps, false},
		{"SpecIsNewAgain", pendingMatches, (*step).endRollback, false},
		{"RolledBack", oldClusterHasAll, (*step).completeRollback, false},
		{"Complete", newClusterHasAll, (*step).completeSteps, false}, // the old cluster is down
	},
	timedOut: {
		suspend,
		{"TimedOut", always, (*step).releaseAll, true},
	},
	suspending: {
		{"ObjectsLeft", objectsLeft, (*step).deleteObjects, true},
		{"ObjectsGone", always, (*step).endSuspension, true},
	},
	suspended: {
		{"Suspended", suspendWanted, func(*step) {}, true},
		{"Resume", always, (*step).resume, false},
	},
}
