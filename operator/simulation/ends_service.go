package simulation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// serviceEnds are the rules for RayServices; the first that applies decides.
var serviceEnds = []rule[*rayv1.RayService]{
	isDeleted[*rayv1.RayService],
	serviceIsInvalid,
	serviceIsNotObserved,
	serviceIsSuspended,
	serviceGivesUpLater,
	serviceCannotStart,
	serviceIsHeld,
	serviceIsNotReady,
	serviceIsAborted,
	serviceHasPendingCluster,
	serviceHasOneCluster,
	serviceRunsOtherImage,
	serviceRunsOtherVariables,
	serviceDoesNotRun,
	serviceRunsOtherConfiguration,
	serviceLeadsElsewhere,
}

func serviceIsInvalid(_ *world, rs *rayv1.RayService) (string, bool) { return "", invalidService(rs) }

func serviceIsNotObserved(_ *world, rs *rayv1.RayService) (string, bool) {
	observed := rs.Status.ObservedGeneration
	return fmt.Sprintf("has generation %d, and %d is observed: %s", rs.Generation, observed, messages(rs)), observed != rs.Generation
}

func serviceIsSuspended(w *world, rs *rayv1.RayService) (string, bool) {
	n := len(w.clustersOf(rs.Name))
	done := meta.IsStatusConditionTrue(rs.Status.Conditions, rayv1.RayServiceSuspended) && n == 0
	return unless(done, "is not suspended, with %d clusters", n), rs.Spec.Suspend
}

func serviceGivesUpLater(_ *world, rs *rayv1.RayService) (string, bool) {
	return "is to give up after a while", rs.Annotations[rayv1.AnnotationInitializingTimeout] != "" && isInitializing(rs)
}

func serviceCannotStart(w *world, rs *rayv1.RayService) (string, bool) {
	why := ""
	c := meta.FindStatusCondition(rs.Status.Conditions, rayv1.RayServiceReady)
	former := func(name string) bool { // one that users still reach stays
		return name != activeOf(rs) && name != rs.Status.PendingServiceStatus.RayClusterName && name != w.reachedBy(rs)
	}
	switch n := w.clustersOf(rs.Name); {
	case c == nil || c.Message == "":
		why = "cannot become ready and does not say why"
	case slices.ContainsFunc(n, former):
		why = fmt.Sprintf("has the clusters %v", n) // the former ones are deleted after a delay
	}
	return why, broken(&rs.Spec.RayClusterSpec) || timedOut(rs)
}

func serviceIsNotReady(_ *world, rs *rayv1.RayService) (string, bool) {
	return "is not ready: " + messages(rs), !meta.IsStatusConditionTrue(rs.Status.Conditions, rayv1.RayServiceReady)
}

func serviceHasPendingCluster(_ *world, rs *rayv1.RayService) (string, bool) {
	active, pending := activeOf(rs), rs.Status.PendingServiceStatus.RayClusterName
	return fmt.Sprintf("has %s and %s: %s", active, pending, messages(rs)), pending != ""
}

func serviceHasOneCluster(w *world, rs *rayv1.RayService) (string, bool) {
	n := w.clustersOf(rs.Name)
	return fmt.Sprintf("has the clusters %v", n), len(n) != 1
}

func serviceRunsOtherImage(w *world, rs *rayv1.RayService) (string, bool) {
	got, want := imageOf(&w.clusterObject(activeOf(rs)).Spec), imageOf(&rs.Spec.RayClusterSpec)
	return fmt.Sprintf("runs %s and should run %s", got, want), got != want && !never(rs)
}

func serviceRunsOtherVariables(w *world, rs *rayv1.RayService) (string, bool) {
	got, want := envOf(&w.clusterObject(activeOf(rs)).Spec), envOf(&rs.Spec.RayClusterSpec)
	return fmt.Sprintf("runs with variables %q and should run with %q", got, want), got != want && !never(rs)
}

func serviceDoesNotRun(w *world, rs *rayv1.RayService) (string, bool) {
	return "is ready, and nothing runs", !w.rays.serve(activeOf(rs))
}

// serviceRunsOtherConfiguration comes after serviceDoesNotRun: Ray runs.
func serviceRunsOtherConfiguration(w *world, rs *rayv1.RayService) (string, bool) {
	configs := w.rays.of(activeOf(rs)).Configs()
	return "runs another configuration than that of its spec",
		len(configs) > 0 && !strings.Contains(configs[len(configs)-1], importPath(rs.Spec.ServeConfigV2))
}

func serviceLeadsElsewhere(w *world, rs *rayv1.RayService) (string, bool) {
	return "is ready, and its serve Service leads elsewhere", w.reachedBy(rs) != activeOf(rs)
}

// reachedBy returns the cluster that the serve Service selects; empty for none.
func (w *world) reachedBy(rs *rayv1.RayService) string { return w.selectedBy(rs.Name + "-serve-svc") }

func activeOf(rs *rayv1.RayService) string { return rs.Status.ActiveServiceStatus.RayClusterName }

func messages(rs *rayv1.RayService) string {
	var list []string
	for _, c := range rs.Status.Conditions {
		list = append(list, c.Type+"="+string(c.Status)+" "+c.Message)
	}
	return strings.Join(list, "; ")
}

// timedOut reports whether a service has given up after the timeout in its annotation.
func timedOut(rs *rayv1.RayService) bool {
	c := meta.FindStatusCondition(rs.Status.Conditions, rayv1.RayServiceReady)
	return c != nil && c.Reason == rayv1.ReasonRayServiceInitializingTimeout
}

func isInitializing(rs *rayv1.RayService) bool {
	c := meta.FindStatusCondition(rs.Status.Conditions, rayv1.RayServiceReady)
	return c == nil || c.Reason == rayv1.ReasonRayServiceInitializing
}

// never reports whether a service keeps its cluster regardless of edits.
func never(rs *rayv1.RayService) bool {
	u := rs.Spec.UpgradeStrategy
	return u != nil && u.Type != nil && *u.Type == rayv1.RayServiceUpgradeNone
}

func (w *world) clustersOf(service string) []string {
	var list []string
	for _, o := range w.store.All(kindCluster) {
		if controlledBy(o, "RayService") == service {
			list = append(list, o.GetName())
		}
	}
	return list
}

func imageOf(s *rayv1.RayClusterSpec) string {
	if len(s.HeadGroupSpec.Template.Spec.Containers) == 0 {
		return ""
	}
	return s.HeadGroupSpec.Template.Spec.Containers[0].Image
}

func envOf(s *rayv1.RayClusterSpec) string {
	var list []string
	if len(s.HeadGroupSpec.Template.Spec.Containers) > 0 {
		for _, e := range s.HeadGroupSpec.Template.Spec.Containers[0].Env {
			list = append(list, e.Name+"="+e.Value)
		}
	}
	return strings.Join(list, " ")
}

func broken(s *rayv1.RayClusterSpec) bool { return imageOf(s) == imageBroken }

func invalidService(rs *rayv1.RayService) bool {
	return len(rs.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers) == 0
}

// importPath returns the import path, which identifies the configuration of a scenario.
func importPath(config string) string {
	_, rest, _ := strings.Cut(config, "import_path: '")
	path, _, _ := strings.Cut(rest, "'")
	return path
}
