package readiness

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

var update = flag.Bool("update", false, "write the states into samples/gitops/argocd/health")

// folder has the states of each kind as files, in the form of the tests of Argo CD. Tests of module hack/release let the Lua engine,
// and kstatus, judge them.
const folder = "../../../samples/gitops/argocd/health"

// Answers of a person about an object, in the words of Argo CD.
const (
	healthy     = "Healthy"
	inProgress  = "Progressing"
	degraded    = "Degraded"
	onPurpose   = "Suspended"
	unobserved  = "waiting for the operator to observe the object"
	beingPruned = "the object is being deleted"
)

// state is an object with its status, and what a person would say about it.
type state struct {
	name, want string
	// message is that of the answer; empty means that of the condition which explains it.
	message string
	object  client.Object
}

// healthTests is the form of Argo CD's health_test.yaml.
type healthTests struct {
	Tests []healthTest `json:"tests"`
}

type healthTest struct {
	HealthStatus struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	} `json:"healthStatus"`
	InputPath string `json:"inputPath"`
}

func TestStates(t *testing.T) {
	all := 0
	for kind, states := range map[string][]state{
		"RayCluster": clusterStates(), "RayJob": jobStates(), "RayService": serviceStates(), "RayCronJob": cronJobStates(),
	} {
		all += len(states)
		t.Run(kind, func(t *testing.T) {
			files := map[string]string{}
			var tests healthTests
			for _, s := range states {
				t.Run(s.name, func(t *testing.T) { checkState(t, s) })
				file := "testdata/" + s.name + ".yaml"
				if files[file] != "" {
					t.Fatalf("two states have the name %s", s.name)
				}
				files[file] = text(t, s.object)
				test := healthTest{InputPath: file}
				test.HealthStatus.Status, test.HealthStatus.Message = s.want, cmp.Or(s.message, explanation(s))
				tests.Tests = append(tests.Tests, test)
			}
			files["health_test.yaml"] = text(t, tests)
			compareFiles(t, filepath.Join(folder, kind), files)
		})
	}
	if all < 60 {
		t.Errorf("%d states, want 60 at least", all)
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	data, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// compareFiles compares a folder with what it should hold, or writes it.
func compareFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "testdata"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	found := map[string]string{}
	for _, pattern := range []string{"*.yaml", "testdata/*.yaml"} {
		names, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			relative, err := filepath.Rel(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			found[filepath.ToSlash(relative)] = string(data)
		}
	}
	if diff := gocmp.Diff(want, found); diff != "" {
		t.Errorf("files in %s (-want +got), go test ./operator/internal/readiness -update writes them:\n%s", dir, diff)
	}
}

// checkState holds the three conditions to what kstatus and people expect of all kinds.
func checkState(t *testing.T, s state) {
	t.Helper()
	list := conditionsOf(s.object)
	for _, c := range list {
		if c.Reason == "" || c.LastTransitionTime.IsZero() {
			t.Errorf("condition %+v lacks a field that the API server requires", c)
		}
	}
	reconciling, stalled := meta.FindStatusCondition(list, rayv1.ConditionReconciling), meta.FindStatusCondition(list, rayv1.ConditionStalled)
	if reconciling != nil && stalled != nil {
		t.Errorf("both are present: %+v, %+v", *reconciling, *stalled)
	}
	for _, c := range []*metav1.Condition{reconciling, stalled} {
		if c != nil && c.Status != metav1.ConditionTrue {
			t.Errorf("condition %+v, want it True or absent", *c)
		}
	}
	if s.message != "" { // unobserved, deleted or without conditions
		return
	}
	if got := s.want == inProgress; got != (reconciling != nil) {
		t.Errorf("Reconciling is %+v in a state that is %s", reconciling, s.want)
	}
	if got := s.want == degraded; got != (stalled != nil) {
		t.Errorf("Stalled is %+v in a state that is %s", stalled, s.want)
	}
	if ready := meta.IsStatusConditionTrue(list, rayv1.ConditionReady); s.want == healthy && !ready || s.want == onPurpose && ready {
		t.Errorf("Ready is %t in a state that is %s", ready, s.want)
	}
}

// explanation is the message of the condition that explains the answer.
func explanation(s state) string {
	kind := map[string]string{healthy: rayv1.ConditionReady, inProgress: rayv1.ConditionReconciling, degraded: rayv1.ConditionStalled}[s.want]
	if kind == "" {
		return "suspended"
	}
	if c := meta.FindStatusCondition(conditionsOf(s.object), kind); c != nil {
		return cmp.Or(c.Message, c.Reason)
	}
	return ""
}

func conditionsOf(o client.Object) []metav1.Condition {
	switch o := o.(type) {
	case *rayv1.RayCluster:
		return o.Status.Conditions
	case *rayv1.RayJob:
		return o.Status.Conditions
	case *rayv1.RayService:
		return o.Status.Conditions
	case *rayv1.RayCronJob:
		return o.Status.Conditions
	}
	return nil
}

var (
	began = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	now   = began.Add(10 * time.Minute)
)

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "ray.io/v1", Kind: kind}
}

func named() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "team-a", Name: "demo", Generation: 1, CreationTimestamp: metav1.NewTime(began)}
}

var queued = map[string]string{rayv1.LabelKueueQueue: "team-a"}

func is(kind, reason, message string) metav1.Condition {
	return condition(kind, metav1.ConditionTrue, reason, message)
}

func isNot(kind, reason, message string) metav1.Condition {
	return condition(kind, metav1.ConditionFalse, reason, message)
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(began),
	}
}

// stuckCluster and waitingCluster are the conditions of clusters of jobs and services.
func stuckCluster() []metav1.Condition {
	return []metav1.Condition{
		is(rayv1.ConditionStalled, rayv1.ReasonImagePullFailed, "head Pod demo-x2k4d-head-b8k2p cannot pull the image ray:typo of container ray-head: not found"),
	}
}

func waitingCluster() []metav1.Condition {
	return []metav1.Condition{
		is(rayv1.ConditionReconciling, rayv1.ReasonUnschedulable, "head Pod demo-x2k4d-head-b8k2p finds no node: 0/3 nodes are available: 3 Insufficient cpu."),
	}
}

func TestTransitionTimesStay(t *testing.T) {
	rs := &rayv1.RayService{TypeMeta: typeOf("RayService"), ObjectMeta: named()}
	rs.Status.Conditions = []metav1.Condition{isNot(rayv1.RayServiceReady, rayv1.ReasonRayServiceInitializing, "")}
	rs.Status.PendingServiceStatus = rayv1.RayServiceStatus{RayClusterName: "c", RayClusterStatus: rayv1.RayClusterStatus{Conditions: stuckCluster()}}
	RayService(rs, nil, false, began)
	stored := slices.Clone(rs.Status.Conditions)
	meta.RemoveStatusCondition(&rs.Status.Conditions, rayv1.ConditionStalled) // as the planner does
	RayService(rs, stored, false, now)
	if diff := gocmp.Diff(stored, rs.Status.Conditions); diff != "" {
		t.Errorf("conditions of an unchanged service (-want +got):\n%s", diff)
	}
}
