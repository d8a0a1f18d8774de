package migrate

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// BackCount is a feature of raygate on stored objects, and what happens to it when KubeRay takes over again.
type BackCount struct {
	What string `json:"what"`
	// Objects is the number of objects with the feature.
	Objects int    `json:"objects"`
	Effect  string `json:"effect"`
}

// annotations are those on Ray objects that KubeRay does not support, and the effect of their absence.
var annotations = map[string]string{
	rayv1.AnnotationWaitForHead:     "ignored: new worker Pods wait for the head as ENABLE_INIT_CONTAINER_INJECTION says",
	rayv1.AnnotationProbes:          "ignored: new Pods have probes as ENABLE_PROBES_INJECTION says",
	rayv1.AnnotationLoginShell:      "ignored: new Pods start Ray as ENABLE_LOGIN_SHELL says",
	rayv1.AnnotationIdleTimeout:     "ignored: idle clusters keep running",
	rayv1.AnnotationMaxAge:          "ignored: old clusters keep running",
	rayv1.AnnotationUpgradePaused:   "ignored: an upgrade continues",
	rayv1.AnnotationUpgradeStrategy: "ignored: running Pods keep their template",
	rayv1.AnnotationCanaryWeight:    "ignored: an upgrade continues without a confirmation",
	rayv1.AnnotationCanaryAnalysis:  "ignored: an upgrade continues without an analysis",
	rayv1.AnnotationGRPCRoute:       "ignored: the GRPCRoute and its listener stay as they are",
	rayv1.AnnotationUpgradeAbort:    "ignored: KubeRay upgrades to the spec that was aborted",
	rayv1.AnnotationDeleteAfter:     "ignored: KubeRay counts the delay until the deletion of the cluster from its own start",
	rayv1.AnnotationGroupSizes:      "ignored",
	rayv1.AnnotationRequestID:       "ignored",
	rayv1.AnnotationRequestHash:     "ignored",
	rayv1.AnnotationUser:            "ignored",
}

// conditions are the conditions that KubeRay does not write, by kind. They stay unchanged, unless KubeRay's CRD has no such field.
var conditions = map[string]struct {
	types  []string
	effect string
}{
	"RayCluster": {[]string{"InvalidSpec", "ChildFailure", "BatchSchedulerProblem", "Idle", "Expired", "Ready", "Reconciling", "Stalled"}, "stay as they are: KubeRay does not update them"},
	"RayService": {[]string{"GatewayReady", "UpgradePaused", "CanaryAnalysis", "UpgradeAborted", "Reconciling", "Stalled"}, "stay as they are: KubeRay does not update them"},
	"RayJob":     {[]string{"Running", "Suspended", "Complete", "Failed", "InvalidSpec", "DashboardUnreachable", "Ready", "Reconciling", "Stalled"}, "dropped by the CRD of KubeRay at the next write"},
	"RayCronJob": {[]string{"Ready", "Reconciling", "Stalled"}, "dropped by the CRD of KubeRay at the next write"},
}

type backCounter struct{ counts map[string]*BackCount }

func newBackCounter() *backCounter { return &backCounter{counts: map[string]*BackCount{}} }

func (b *backCounter) add(what, effect string) {
	if b.counts[what] == nil {
		b.counts[what] = &BackCount{What: what, Effect: effect}
	}
	b.counts[what].Objects++
}

func (b *backCounter) count(r *Report, u *unstructured.Unstructured) {
	for key := range u.GetAnnotations() {
		if effect, known := annotations[key]; known {
			b.add("annotation "+key, effect)
		} else if strings.HasPrefix(key, "raygate.io/") {
			b.add("annotation "+key, "ignored")
		}
	}
	kind := u.GetKind()
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	if slices.ContainsFunc(list, func(c any) bool {
		m, _ := c.(map[string]any)
		name, _ := m["type"].(string)
		return slices.Contains(conditions[kind].types, name)
	}) {
		b.add("conditions "+strings.Join(conditions[kind].types, ", ")+" of "+kind, conditions[kind].effect)
	}
	if _, found, _ := unstructured.NestedString(u.Object, "status", "nextScheduleTime"); found {
		b.add("status.nextScheduleTime of "+kind, "dropped by the CRD of KubeRay at the next write")
	}
	if pending, _, _ := unstructured.NestedString(u.Object, "status", "pendingServiceStatus", "rayClusterName"); kind == "RayService" && pending != "" {
		r.add(Finding{Area: AreaBack, Severity: Note, Kind: kind, Namespace: u.GetNamespace(), Name: u.GetName(), Field: "status.pendingServiceStatus",
			Message: "is being upgraded; an operator of another version may bring the new spec to the cluster that serves, in place",
			Remedy:  "let the upgrade end before KubeRay takes over"})
	}
}

func (b *backCounter) report(r *Report) {
	for _, what := range slices.Sorted(maps.Keys(b.counts)) {
		r.Back = append(r.Back, *b.counts[what])
	}
}
