package resource

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/validation"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Severities of findings.
const (
	severityError   = "ERROR"
	severityWarning = "WARNING"
	severityInfo    = "INFO"
)

const (
	// maxFindings bounds an answer about a large cluster.
	maxFindings = 50
	// maxLogs is how many containers have their last lines read.
	maxLogs  = 3
	logLines = 5
	logBytes = 1000
)

// evidence is what a diagnosis is made of, and the findings so far.
type evidence struct {
	*Resource
	item     *store.Item
	cluster  *rayv1.RayCluster
	pods     []corev1.Pod
	events   []corev1.Event
	findings []*raygatev2.Finding
	// byText counts findings that differ in their object only.
	byText map[string]int
	// log returns the last lines of a container that has ended.
	log func(pod, container string) string
	// dashboard asks the one behind a Service whether it is there. Nil means that nobody asks.
	dashboard func(service string) error
}

// Diagnose says in resp whether a cluster is ready, and why not: the most decisive finding first. The cluster is read from the cache, Pods, events and
// logs with the caller's credentials; what the caller may not read is left out.
func (r *Resource) Diagnose(ctx context.Context, req target, resp proto.Message) error {
	ready, findings, err := r.diagnose(ctx, req)
	if err != nil {
		return err
	}
	set(resp, "ready", ready)
	for _, f := range findings {
		add(resp, "findings", f)
	}
	return nil
}

func (r *Resource) diagnose(ctx context.Context, req target) (ready bool, findings []*raygatev2.Finding, err error) {
	item, typed, err := r.subject(ctx, req)
	if err != nil {
		return false, nil, err
	}
	e, err := r.gather(ctx, item, typed.(*rayv1.RayCluster))
	if err != nil {
		return false, nil, err
	}
	ready = e.cluster.Status.State == rayv1.ClusterStateReady && Observed(e.item)
	e.look()
	return ready, e.findings, nil
}

// subject returns the object that a diagnosis is about, as it is stored and as rules look at it.
func (r *Resource) subject(ctx context.Context, req target) (*store.Item, validation.Object, error) {
	item, err := r.find(ctx, req, "get")
	if err != nil {
		return nil, nil, err
	}
	typed, err := r.typedOf(item.JSON())
	return item, typed, err
}

// gather reads the evidence about an object that is, or has, a cluster.
func (r *Resource) gather(ctx context.Context, item *store.Item, cluster *rayv1.RayCluster) (*evidence, error) {
	e := &evidence{Resource: r, item: item, cluster: cluster, byText: map[string]int{}}
	var err error
	if e.pods, err = r.pods(ctx, e.item); err != nil {
		return nil, err
	}
	if err := e.readEvents(ctx); err != nil {
		return nil, err
	}
	logs := 0
	e.log = func(pod, container string) string {
		if logs++; logs > maxLogs {
			return ""
		}
		o := &corev1.PodLogOptions{Container: container, Previous: true, TailLines: new(int64(logLines)), LimitBytes: new(int64(logBytes))}
		raw, err := logsOf(ctx, r, e.item.Namespace, pod, o)
		if err != nil {
			o.Previous = false // it has ended for the first time, and has not been started again
			if raw, err = logsOf(ctx, r, e.item.Namespace, pod, o); err != nil {
				return ""
			}
		}
		return strings.TrimSpace(strings.ToValidUTF8(string(raw), "\uFFFD"))
	}
	e.dashboard = func(service string) error { return r.askDashboard(ctx, e.item.Namespace, service) }
	return e, nil
}

// readEvents reads the warnings about the object and its Pods.
func (e *evidence) readEvents(ctx context.Context) (err error) {
	about := map[types.UID]bool{e.item.UID: true}
	for i := range e.pods {
		about[e.pods[i].UID] = true
	}
	e.events, err = e.Resource.events(ctx, e.item.Namespace, fields.OneTermEqualSelector("type", corev1.EventTypeWarning), func(ev *corev1.Event) bool { return about[ev.InvolvedObject.UID] })
	if apierrors.IsForbidden(err) {
		e.Warn(ctx, fmt.Sprintf("events are left out: %v", err))
		return nil
	}
	return err
}

// look goes through the places where something may be wrong, the most decisive first.
func (e *evidence) look() {
	for _, at := range []func(*evidence){
		(*evidence).lookAtIntent, (*evidence).lookAtRules, (*evidence).lookAtOperator, (*evidence).lookAtCreation, (*evidence).lookAtClusterDevices,
		(*evidence).lookAtHead, (*evidence).lookAtPods, (*evidence).lookAtDashboard, (*evidence).lookAtEvents, (*evidence).lookAtConditions,
		(*evidence).lookAtDeviceWarnings,
	} {
		at(e)
	}
}

func logsOf(ctx context.Context, r *Resource, namespace, pod string, o *corev1.PodLogOptions) ([]byte, error) {
	return r.Core.Get().Namespace(namespace).Resource("pods").Name(pod).SubResource("log").VersionedParams(o, scheme.ParameterCodec).Do(ctx).Raw()
}

// add adds a finding. One that was found before on another object of the kind is counted there.
func (e *evidence) add(severity, reason, kind, name, remedy, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	key := reason + "\x00" + strings.ReplaceAll(message, name, "")
	if at, known := e.byText[key]; known {
		if f := e.findings[at]; f.Object.Name != name && !strings.Contains(f.Message, "(and others)") {
			f.Message += " (and others)"
		}
		return
	}
	if len(e.findings) == maxFindings {
		return
	}
	e.byText[key] = len(e.findings)
	e.findings = append(e.findings, &raygatev2.Finding{
		Severity: severity, Reason: reason, Message: message, Object: &raygatev2.ObjectReference{Kind: kind, Name: name}, Remedy: remedy,
	})
}

func (e *evidence) addCluster(severity, reason, remedy, format string, args ...any) {
	e.add(severity, reason, clusterKind, e.item.Name, remedy, format, args...)
}

// lookAtIntent finds what is as somebody wanted it.
func (e *evidence) lookAtIntent() {
	if e.item.DeletionTimestamp != nil {
		e.addCluster(severityInfo, "Deleting", "wait for those who hold the finalizers, or see their logs", "the cluster is being deleted; held by finalizers %v", e.item.Finalizers)
	}
	if by := e.cluster.Spec.ManagedBy; by != nil && *by != rayv1.ManagedByKubeRayOperator {
		e.addCluster(severityInfo, "ManagedElsewhere", "see that controller", "the cluster is managed by %s, not by the operator here", *by)
	}
	if e.cluster.Spec.Suspend != nil && *e.cluster.Spec.Suspend {
		e.addCluster(severityInfo, "Suspended", "resume it", "spec.suspend is true: the cluster has no Pods")
	}
}

// lookAtRules finds what the operator refuses.
func (e *evidence) lookAtRules() {
	if errs := e.Checks.Create(e.cluster, e.Validation).Errors; len(errs) > 0 {
		e.addCluster(severityError, "InvalidSpec", "correct these fields", "%s", validation.Summary(errs))
	}
}

func (e *evidence) lookAtOperator() {
	if !Observed(e.item) && len(e.findings) == 0 {
		e.addCluster(severityWarning, "NotObserved", "see whether the operator runs and watches this namespace", "the operator has not yet seen generation %d of the spec", e.item.Generation)
	}
}

// lookAtCreation finds what keeps Pods from being made: quota, admission, a missing ServiceAccount.
func (e *evidence) lookAtCreation() {
	if status, reason, message := ConditionOf(e.item, rayv1.RayClusterReplicaFailure); status == "True" {
		finding, remedy := "PodsRefused", "change what is refused, or ask who refuses it"
		switch {
		case ofDevices(message):
			finding, remedy = refusedDevices, remedyDevices
			if strings.Contains(message, "exceeded quota") {
				finding, remedy = "DeviceQuotaExceeded", "ask for fewer or smaller devices, or for a larger ResourceQuota"
			}
		case strings.Contains(message, "exceeded quota"):
			finding, remedy = "QuotaExceeded", "make the cluster smaller, or ask for a larger ResourceQuota"
		case strings.Contains(message, "serviceaccount"):
			finding, remedy = "ServiceAccountMissing", "create the ServiceAccount, or name another one"
		case strings.Contains(message, "admission webhook"):
			finding = "AdmissionRefused"
		}
		e.addCluster(severityError, finding, remedy, "%s: %s", reason, message)
	}
}

func (e *evidence) lookAtHead() {
	if len(e.findings) > 0 || e.item.DeletionTimestamp != nil {
		return
	}
	if !slices.ContainsFunc(e.pods, func(p corev1.Pod) bool { return isHead(&p) && p.DeletionTimestamp == nil }) {
		e.addCluster(severityError, "HeadPodMissing", "see the events of the cluster and the log of the operator", "there is no head Pod")
	}
}

// lookAtEvents finds what Pods say only by events.
func (e *evidence) lookAtEvents() {
	for i := range e.events {
		ev := &e.events[i]
		kind, name := ev.InvolvedObject.Kind, ev.InvolvedObject.Name
		if kind == "Pod" && e.podIsReady(name) {
			continue // it has been overcome
		}
		switch ev.Reason {
		case "FailedMount", "FailedAttachVolume":
			e.add(severityError, "VolumeMissing", kind, name, "create what the volume refers to, or remove the volume", "%s", ev.Message)
		case "Unhealthy":
			e.add(severityWarning, "ProbeFailing", kind, name, "see the log of the container", "%s", ev.Message)
		case "FailedScheduling": // said by the Pod's condition, and better
		case "FailedToCreateHeadPod", "FailedToCreateWorkerPod":
			e.lookAtRefusal(ev)
		default:
			if kind == e.item.Kind && strings.HasPrefix(ev.Reason, "Failed") {
				e.add(severityWarning, ev.Reason, kind, name, "", "%s", ev.Message)
			}
		}
	}
}

func (e *evidence) podIsReady(name string) bool {
	return slices.ContainsFunc(e.pods, func(p corev1.Pod) bool { return p.Name == name && isReady(&p) })
}

func isReady(p *corev1.Pod) bool {
	return conditionOf(p, corev1.PodReady).Status == corev1.ConditionTrue
}

func isHead(p *corev1.Pod) bool { return p.Labels[rayv1.LabelNodeType] == string(rayv1.HeadNode) }

func conditionOf(p *corev1.Pod, name corev1.PodConditionType) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == name {
			return c
		}
	}
	return corev1.PodCondition{}
}

// lookAtConditions takes the operator's word for what nothing else has told.
func (e *evidence) lookAtConditions() {
	for _, name := range []string{rayv1.RayClusterChildFailure, rayv1.RayClusterBatchSchedulerProblem, rayv1.RayClusterStalled} {
		status, reason, message := ConditionOf(e.item, name)
		if status == "True" && (name != rayv1.RayClusterStalled || len(e.findings) == 0) {
			e.addCluster(severityError, reason, "", "%s", message)
		}
	}
}
