package raycluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/podexec"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/validation"
)

// scope is what one reconcile has read and decided. Steps read each thing here and nowhere else.
type scope struct {
	// cluster is a copy whose status becomes the new one. Its spec is what the user wrote, without facts for the autoscaler. Set by observe.
	cluster *rayv1.RayCluster
	// stored is the cluster as the cache has it, which nobody changes. Set by observe.
	stored *rayv1.RayCluster
	// now is when the run began. Set by observe.
	now time.Time
	// pods are all Pods of the cluster, our own recent writes included. They belong to the cache: never change one. Set by observe,
	// brought up to date by the step pods.
	pods []*corev1.Pod
	// said is what earlier runs have said. Set by observe.
	said *report.Once
	// progress is how far the steps came. Set after the last one that ran.
	progress reconcile.Progress

	// invalid is the summary of broken rules, empty for a valid spec. Set by validate.
	invalid string
	// tolerated says that the cluster is looked after in spite of invalid, because it runs already. Set by validate.
	tolerated bool
	// headService is the head Service as the server has it, nil if it cannot be had. Set by headService.
	headService *corev1.Service
	// headServiceUnknown says that nobody could find out about it. Set by headService.
	headServiceUnknown bool
	// madeService is the head Service that this run made and no event tells of yet. Set by headService, taken by pods for the
	// event about the head.
	madeService string
	// failures are why Pods and the head Service could not be created or deleted, what is waited with after a refusal included.
	// Added to by headService and pods.
	failures []podexec.Failure
	// facts are what rules ask for besides the cluster. Set by the steps that look after what they are about, read by
	// checkDependents.
	facts validation.Facts
	// holds are why no Pods may be created yet, such as certificates that are not ready, as sentences without a full stop.
	// Added to by hold, in steps before pods.
	holds []string
	// workload is the cluster as the batch scheduler sees it; nil without one, and while no Pods are made. Set by gangs.
	workload *gang.Workload
	// schedulerProblems are what the batch scheduler does not do as asked, as sentences without a full stop. Set by gangs.
	schedulerProblems []string
	// headRestartDisabled says that the head is gone and must not come back. Set by pods.
	headRestartDisabled bool
	// children are the children that cannot be had. Set by the steps that make them.
	children []childFailure
	// errs are errors that kept single children, and nothing else, from being made. Set by the steps that make them.
	errs []error
	// deleting says that the cluster is going away, so that nothing about it is worth saving. Set by finalize.
	deleting bool
	// more says that Pods are left to create or delete because a run is bounded. Set by pods.
	more bool
	// lookAgain is how long it takes until children have to be looked at again, or the status changes by itself; zero for
	// never. Set by after.
	lookAgain time.Duration
	// events are sent when the status is saved. Appended to by steps and conditions.
	events []report.Event
}

// childFailure says why a child cannot be had. Without an action there is no event.
type childFailure struct{ reason, action, message string }

// missing takes over what a look for something user-provided found out.
func (s *scope) missing(missing bool, r children.Result) bool {
	s.dependent(r)
	return missing
}

// saidChildren is the subject of what was said about children.
const saidChildren = "children"

// after asks for another look; zero asks for none.
func (s *scope) after(d time.Duration) { s.lookAgain = reconcile.Sooner(s.lookAgain, d) }

// hold keeps the step pods from creating any in this run. Whoever calls it sees to it that the cluster is looked at again.
func (s *scope) hold(why string) { s.holds = append(s.holds, why) }

// conditions are those of the new status.
func (s *scope) conditions() report.Conditions {
	return report.Conditions{List: &s.cluster.Status.Conditions, Generation: s.cluster.Generation, Now: s.now}
}

// dependent takes over what became of a child: an event for what was done, a part of the condition ChildFailure for what cannot be
// had. Reasons are those of KubeRay 1.7: CreatedX, FailedToUpdateX and so on, X being the kind.
func (s *scope) dependent(r children.Result) {
	s.after(r.After)
	if r.Err != nil {
		s.errs = append(s.errs, r.Err)
	}
	kind := r.Kind
	if kind == "PersistentVolumeClaim" {
		kind = "PVC"
	}
	for _, e := range r.Events(kind, func(string) bool { return false }) {
		switch {
		case r.Done == children.Update && silentKinds[kind]:
			continue
		case r.Done == children.Delete:
			e.Note += ", which the spec no longer asks for"
		}
		s.events = append(s.events, e)
	}
	if f := r.Failure; f != nil {
		reason := "FailedTo" + string(f.Operation) + kind
		if f.Operation == children.Update && silentKinds[kind] {
			reason = "FailedToCreate" + kind
		}
		s.children = append(s.children, childFailure{reason: reason, action: string(f.Operation), message: f.Message})
	}
}

// silentKinds are kinds whose repairs (labels, owner references) produce no events.
var silentKinds = map[string]bool{"Secret": true, "ServiceAccount": true, "PVC": true}

// Actions of events, as events.k8s.io wants them.
const (
	actionValidate = "Validate"
	actionCreate   = string(children.Create)
	actionUpdate   = string(children.Update)
	actionDelete   = string(children.Delete)
	actionSchedule = "Schedule"
	actionCleanup  = "Cleanup"
	// actionReconcile is for what concerns the cluster as a whole.
	actionReconcile = "Reconcile"
)
