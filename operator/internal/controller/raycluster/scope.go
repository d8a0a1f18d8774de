package raycluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/operator/internal/expiryplan"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/podexec"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/devices/claims"
	"github.com/raygate/raygate/pkg/validation"
)

// scope is the state of one reconcile. Steps read shared data only from here.
type scope struct {
	// cluster is a copy with the new status. Its spec is that of the user, without device facts for the autoscaler. Set by observe.
	cluster *rayv1.RayCluster
	// stored is the cluster in the cache; read-only. Set by observe.
	stored *rayv1.RayCluster
	// now is the start of the reconcile. Set by observe.
	now time.Time
	// pods are all Pods of the cluster, including own writes that the cache does not show yet. They belong to the cache: never
	// modify them. Set by observe, updated by the step pods.
	pods []*corev1.Pod
	// said are the messages that earlier reconciles have sent. Set by observe.
	said *report.Once
	// progress describes the steps that ran. Set after the last one.
	progress reconcile.Progress

	// invalid summarizes the broken rules; empty for a valid spec. Set by validate.
	invalid string
	// tolerated means that a running cluster is reconciled although its spec is invalid. Set by validate.
	tolerated bool
	// headService is the head Service on the server; nil if it could not be created. Set by headService.
	headService *corev1.Service
	// headServiceUnknown means that reading the head Service failed. Set by headService.
	headServiceUnknown bool
	// madeService is the name of the head Service that this reconcile created, until an event reports it. Set by headService, taken
	// by pods for the event about the head.
	madeService string
	// failures are the failed creations and deletions of Pods and the head Service, including those that wait for their back-off.
	// Added to by headService and pods.
	failures []podexec.Failure
	// facts are facts for rules that the cluster does not contain. Set by the steps of the respective children, read by
	// checkDependents.
	facts validation.Facts
	// claims are the devices of ResourceClaims by group. Set by deviceClaims.
	claims map[string]*claims.Devices
	// awaitsClaims are the groups whose Pods wait for objects of their claims. Set by deviceClaims.
	awaitsClaims map[string]bool
	// warned are the messages of events that are sent once, by reason. Set by deviceClaims.
	warned map[string][]string
	// holds are the reasons why no Pods may be created yet, such as missing certificates, as sentences without a full stop. Added
	// to by hold, in steps before pods.
	holds []string
	// workload is the cluster in the form for the batch scheduler; nil without one, and while no Pods are created. Set by gangs.
	workload *gang.Workload
	// schedulerProblems are the requests that the batch scheduler does not fulfil, as sentences without a full stop. Set by gangs.
	schedulerProblems []string
	// expiry is the plan for the end of an idle or old cluster. Set by expiry.
	expiry expiryplan.Plan
	// hashes are the hashes of templates by group, for clusters with a rolling upgrade; nil for others. Set by pods.
	hashes map[string]string
	// upgrade is the progress of a rolling upgrade; nil for none. Set by pods.
	upgrade *podplan.Upgrade
	// held means that a PodDisruptionBudget holds up the upgrade. Set by pods.
	held bool
	// headRestartDisabled means that the head is gone and must not be recreated. Set by pods.
	headRestartDisabled bool
	// children are the failures of children. Set by the steps that create them.
	children []childFailure
	// errs are errors that affected single children only. Set by the steps that create them.
	errs []error
	// deleting means that the cluster is being deleted, so its status is not saved. Set by finalize.
	deleting bool
	// more means that Pods are left to create or delete because one reconcile is bounded. Set by pods.
	more bool
	// lookAgain is the time until the next reconcile without an event; 0 means never. Set by after.
	lookAgain time.Duration
	// events are sent after the status is saved. Appended to by steps and conditions.
	events []report.Event
}

// childFailure is the reason why a child cannot be created or updated. Without an action it causes no event.
type childFailure struct{ reason, action, message string }

// missing records the result of a search for a user-provided object and returns whether it is missing.
func (s *scope) missing(missing bool, r children.Result) bool {
	s.dependent(r)
	return missing
}

// saidChildren is the subject of messages about children.
const saidChildren = "children"

// after requests another reconcile after d; 0 requests none.
func (s *scope) after(d time.Duration) { s.lookAgain = reconcile.Sooner(s.lookAgain, d) }

// hold keeps the step pods from creating Pods in this reconcile. The caller must ensure that the cluster is reconciled again.
func (s *scope) hold(why string) { s.holds = append(s.holds, why) }

// conditions returns the conditions of the new status.
func (s *scope) conditions() conditions.Editor {
	return conditions.Editor{List: &s.cluster.Status.Conditions, Generation: s.cluster.Generation, Now: s.now}
}

// dependent records the result for a child: an event for a write, an entry in the condition ChildFailure for a failure. Reasons
// are those of KubeRay 1.7: CreatedX, FailedToUpdateX and so on, with the kind as X.
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

// Actions of events, as events.k8s.io requires them.
const (
	actionValidate = "Validate"
	actionCreate   = string(children.Create)
	actionUpdate   = string(children.Update)
	actionDelete   = string(children.Delete)
	actionSchedule = "Schedule"
	actionCleanup  = "Cleanup"
	// actionReconcile is the action of events about the cluster as a whole.
	actionReconcile = "Reconcile"
)
