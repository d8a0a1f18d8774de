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
	// maxLogs is the maximum number of containers whose last lines are read.
	maxLogs  = 3
	logLines = 5
	logBytes = 1000
)

// evidence is the input of a diagnosis, and its findings so far.
type evidence struct {
	*Resource
	item *store.Item
	// object is the item as the rules see it, cluster the cluster that it is or has.
	object   validation.Object
	cluster  *rayv1.RayCluster
	pods     []corev1.Pod
	events   []corev1.Event
	findings []*raygatev2.Finding
	// workload is the Workload of Kueue for the object. Nil means that there is none, or that it is unknown.
	workload *workload
	// byText counts findings that differ in their object only.
	byText map[string]int
	// log returns the last lines of a container that has ended.
	log func(pod, container string) string
	// dashboard returns an error if the dashboard behind a Service does not answer. Nil skips the check.
	dashboard func(service string) error
}

// Diagnose puts the diagnosis of an object into resp. The object comes from the cache. Pods, events and logs are read with the caller's
// credentials, and left out if the caller may not read them. What is gone comes from the history.
func (r *Resource) Diagnose(ctx context.Context, req target, resp proto.Message) error {
	about, record, err := r.withPast(ctx, req)
	if err != nil {
		return err
	}
	ready, findings, err := about.diagnosis(ctx, req)
	if err != nil {
		return err
	}
	if about.recorded != nil {
		ready = ready && about.recorded.item.At("status.jobDeploymentStatus").Str == string(rayv1.JobDeploymentStatusComplete)
		findings = append(findings, record.finding(r.Checks.Kind, req.GetName()))
	}
	set(resp, "ready", ready)
	for _, f := range findings {
		add(resp, "findings", f)
	}
	return nil
}

// diagnosis returns whether an object is ready, and the reasons why not, the most important first.
func (r *Resource) diagnosis(ctx context.Context, req target) (ready bool, findings []*raygatev2.Finding, err error) {
	item, err := r.find(ctx, req, "get")
	if err != nil {
		return false, nil, err
	}
	object, err := r.typedOf(item.JSON())
	if err != nil {
		return false, nil, err
	}
	e := &evidence{Resource: r, item: item, object: object, cluster: &rayv1.RayCluster{}, byText: map[string]int{}}
	e.readWorkload(ctx)
	if ready, err = r.Diagnosis(ctx, e); err != nil {
		return false, nil, err
	}
	e.checkAdmitted(ready)
	return ready, e.findings, nil
}

// DiagnoseCluster is the Diagnosis of a RayCluster.
func DiagnoseCluster(ctx context.Context, e *evidence) (ready bool, err error) {
	e.cluster = e.object.(*rayv1.RayCluster)
	if err := e.gather(ctx); err != nil {
		return false, err
	}
	e.check()
	return e.cluster.Status.State == rayv1.ClusterStateReady && Observed(e.item), nil
}

// gather reads Pods and events, and prepares reading logs and calling the dashboard.
func (e *evidence) gather(ctx context.Context) (err error) {
	if past := e.recorded; past != nil {
		e.pods, e.log = past.pods, func(string, string) string { return "" }
		return e.readEvents(ctx)
	}
	if e.pods, err = e.Resource.pods(ctx, e.item); err != nil {
		return err
	}
	if e.kept != nil {
		e.pods = addUnknown(e.pods, e.kept.pods, func(p *corev1.Pod) types.UID { return p.UID })
	}
	if err := e.readEvents(ctx); err != nil {
		return err
	}
	logs := 0
	e.log = func(pod, container string) string {
		if logs++; logs > maxLogs {
			return ""
		}
		o := &corev1.PodLogOptions{Container: container, TailLines: new(int64(logLines)), LimitBytes: new(int64(logBytes))}
		for _, o.Previous = range []bool{true, false} { // a container that has ended for the first time has no previous log
			raw, err := e.Core.Get().Namespace(e.item.Namespace).Resource("pods").Name(pod).SubResource("log").VersionedParams(o, scheme.ParameterCodec).Do(ctx).Raw()
			if err == nil {
				return strings.TrimSpace(strings.ToValidUTF8(string(raw), "\uFFFD"))
			}
		}
		return ""
	}
	e.dashboard = func(service string) error { return e.askDashboard(ctx, e.item.Namespace, service) }
	return nil
}

// readEvents reads the warnings about the object and its Pods.
func (e *evidence) readEvents(ctx context.Context) (err error) {
	about := map[types.UID]bool{e.item.UID: true}
	for i := range e.pods {
		about[e.pods[i].UID] = true
	}
	if e.recorded != nil {
		e.events = e.recorded.warnings(about)
		return nil
	}
	e.events, err = e.Resource.events(ctx, e.item.Namespace, fields.OneTermEqualSelector("type", corev1.EventTypeWarning), func(ev *corev1.Event) bool { return about[ev.InvolvedObject.UID] })
	if apierrors.IsForbidden(err) {
		e.Warn(ctx, fmt.Sprintf("events are left out: %v", err))
		return nil
	}
	if e.kept != nil {
		e.events = addUnknown(e.events, e.kept.warnings(about), func(ev *corev1.Event) types.UID { return ev.UID })
	}
	return err
}

// check adds the problems of a cluster, the most important first.
func (e *evidence) check() {
	e.checkIntent("cluster", "the cluster has no Pods")
	e.checkRules()
	if !Observed(e.item) && len(e.findings) == 0 {
		e.addNotObserved()
	}
	e.checkCreation()
	e.checkDevices(e.cluster)
	e.checkHead()
	e.checkPods()
	e.checkDashboard()
	e.checkEvents()
	e.checkConditions()
	e.checkDeviceWarnings()
}

// subject is the object that a finding is about.
type subject struct {
	*evidence
	kind, name string
}

func (e *evidence) about(kind, name string) subject { return subject{e, kind, name} }

// add adds a finding. An equal finding of another object is merged into it.
func (s subject) add(severity, reason, remedy, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	key := reason + "\x00" + strings.ReplaceAll(message, s.name, "")
	if at, known := s.byText[key]; known {
		if f := s.findings[at]; f.Object.Name != s.name && !strings.Contains(f.Message, "(and others)") {
			f.Message += " (and others)"
		}
		return
	}
	if len(s.findings) == maxFindings {
		return
	}
	s.byText[key] = len(s.findings)
	s.findings = append(s.findings, &raygatev2.Finding{
		Severity: severity, Reason: reason, Message: message, Object: &raygatev2.ObjectReference{Kind: s.kind, Name: s.name}, Remedy: remedy,
	})
}

// addSelf adds a finding about the object itself.
func (e *evidence) addSelf(severity, reason, remedy, format string, args ...any) {
	e.about(e.item.Kind, e.item.Name).add(severity, reason, remedy, format, args...)
}

func (e *evidence) addNotObserved() {
	e.addSelf(severityWarning, "NotObserved", "see whether the operator runs and watches this namespace", "the operator has not yet seen generation %d of the spec", e.item.Generation)
}

// checkIntent reports a state that a user requested. noun is the kind in messages, suspended the effect of spec.suspend; empty for a kind
// with its own findings about it.
func (e *evidence) checkIntent(noun, suspended string) {
	if e.item.DeletionTimestamp != nil {
		e.addSelf(severityInfo, "Deleting", "wait for those who hold the finalizers, or see their logs", "the %s is being deleted; held by finalizers %v", noun, e.item.Finalizers)
	}
	if by := e.item.At("spec.managedBy").Str; by != "" && by != rayv1.ManagedByKubeRayOperator {
		e.addSelf(severityInfo, "ManagedElsewhere", "see that controller", "the %s is managed by %s, not by the operator here", noun, by)
	}
	if e.queued() {
		e.checkQueue()
	} else if suspended != "" && e.item.At("spec.suspend").Bool() {
		e.addSelf(severityInfo, "Suspended", "resume it", "spec.suspend is true: %s", suspended)
	}
}

// checkRules finds errors for which the operator refuses the object, and returns whether there are any.
func (e *evidence) checkRules() bool {
	errs := e.Checks.Create(e.object, e.Validation).Errors
	if len(errs) > 0 {
		e.addSelf(severityError, "InvalidSpec", "correct these fields", "%s", validation.Summary(errs))
	}
	return len(errs) > 0
}

// checkCreation finds reasons why Pods cannot be created: quota, admission, a missing ServiceAccount.
func (e *evidence) checkCreation() {
	if status, reason, message := ConditionOf(e.item, rayv1.RayClusterReplicaFailure); status == "True" {
		finding, remedy := "PodsRefused", "change what is refused, or ask who refuses it"
		switch {
		case ofDevices(message):
			finding, remedy = refusedDevices, remedyDevices
			if strings.Contains(message, "exceeded quota") {
				finding, remedy = "DeviceQuotaExceeded", "request fewer or smaller devices, or raise the ResourceQuota"
			}
		case strings.Contains(message, "exceeded quota"):
			finding, remedy = "QuotaExceeded", "make the cluster smaller, or raise the ResourceQuota"
		case strings.Contains(message, "serviceaccount"):
			finding, remedy = "ServiceAccountMissing", "create the ServiceAccount, or name another one"
		case strings.Contains(message, "admission webhook"):
			finding = "AdmissionRefused"
		}
		e.addSelf(severityError, finding, remedy, "%s: %s", reason, message)
	}
}

func (e *evidence) checkHead() {
	if len(e.findings) > 0 || e.item.DeletionTimestamp != nil {
		return
	}
	if !slices.ContainsFunc(e.pods, func(p corev1.Pod) bool { return isHead(&p) && p.DeletionTimestamp == nil }) {
		e.addSelf(severityError, "HeadPodMissing", "see the events of the cluster and the log of the operator", "there is no head Pod")
	}
}

// checkEvents finds problems of Pods that only events report.
func (e *evidence) checkEvents() {
	for i := range e.events {
		ev := &e.events[i]
		kind, name := ev.InvolvedObject.Kind, ev.InvolvedObject.Name
		if kind == "Pod" && slices.ContainsFunc(e.pods, func(p corev1.Pod) bool { return p.Name == name && isReady(&p) }) {
			continue // the problem has passed
		}
		object := e.about(kind, name)
		switch ev.Reason {
		case "FailedMount", "FailedAttachVolume":
			object.add(severityError, "VolumeMissing", "create what the volume refers to, or remove the volume", "%s", ev.Message)
		case "Unhealthy":
			object.add(severityWarning, "ProbeFailing", "see the log of the container", "%s", ev.Message)
		case "FailedScheduling": // the condition of the Pod says it better
		case "FailedToCreateHeadPod", "FailedToCreateWorkerPod":
			e.checkRefusal(ev)
		default:
			if kind == e.item.Kind && strings.HasPrefix(ev.Reason, "Failed") {
				object.add(severityWarning, ev.Reason, "", "%s", ev.Message)
			}
		}
	}
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

// checkConditions reports problems that only the operator's conditions have.
func (e *evidence) checkConditions() {
	for _, name := range []string{rayv1.RayClusterChildFailure, rayv1.RayClusterBatchSchedulerProblem, rayv1.RayClusterStalled} {
		status, reason, message := ConditionOf(e.item, name)
		if status == "True" && (name != rayv1.RayClusterStalled || len(e.findings) == 0) {
			e.addSelf(severityError, reason, "", "%s", message)
		}
	}
}
