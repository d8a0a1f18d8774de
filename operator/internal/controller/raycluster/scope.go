package raycluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/pkg/validation"
)

// scope is what one reconcile has read and decided. Steps read each thing here and nowhere else.
type scope struct {
	// cluster is a copy whose status becomes the new one. Set by observe.
	cluster *rayv1.RayCluster
	// now is when the run began. Set by observe.
	now time.Time
	// pods are all Pods that the cluster controls, our own recent writes included. They belong to the cache: never change
	// one. Set by observe, brought up to date by the step pods.
	pods []*corev1.Pod
	// services are the Services that the cluster controls. Set by observe.
	services []*corev1.Service

	// invalid is the summary of broken rules, empty for a valid spec. Set by admit.
	invalid string
	// tolerated says that the cluster is looked after in spite of invalid, because it runs already. Set by admit.
	tolerated bool
	// headService is the head Service as the server has it, nil if it cannot be had. Set by headService.
	headService *corev1.Service
	// madeService is the head Service that this run made and no event tells of yet. Set by headService, taken by pods for the
	// event about the head.
	madeService string
	// failures are why things could not be created or deleted, what is waited with after a refusal included. Added to by fail
	// and pods.
	failures []failure
	// facts are what rules ask for besides the cluster. Set by the steps that look after what they are about, read by judge.
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
	// lookAgain is how long it takes until children have to be looked at again, or the status changes by itself; zero for
	// never. Set by the steps that make children, and by conditions.
	lookAgain time.Duration
	// events are sent when the status is saved. Appended to by steps and conditions.
	events []notice
}

// fail notes an operation that the API server refused, for the condition ReplicaFailure and an event.
func (s *scope) fail(reason, message string) {
	s.failures = append(s.failures, failure{reason: reason, message: message})
}

// hold keeps the step pods from creating any in this run. Whoever calls it sees to it that the cluster is looked at again.
func (s *scope) hold(why string) { s.holds = append(s.holds, why) }

// failure is an operation that the API server refused. The event goes by the reason, unless it has one of its own.
type failure struct{ reason, message, event string }

// outcome is what a step says about the steps after it. The zero value says go on.
type outcome struct {
	// stop ends the list.
	stop bool
	// lookAgain asks for another reconcile after this time; zero asks for none.
	lookAgain time.Duration
}

// soonest returns the shorter of two times after which to look again, where zero is never.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
