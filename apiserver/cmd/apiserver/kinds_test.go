package main

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/test/controlplane"
)

// TestKinds holds every method of every kind to a real API server, by gRPC and by REST.
func TestKinds(t *testing.T) {
	env := shared.Env(t)
	p := startProcess(t, env.Config, authn.None)
	callers := map[string]caller{"grpc": newGRPCCaller(t, p.grpc, ""), "rest": restCaller{base: p.http}}
	for _, s := range allServed() {
		for transport, c := range callers {
			t.Run(s.Checks.Kind+"/"+transport, func(t *testing.T) { testMethods(t, env, s, c, strings.ToLower(s.name)+"-"+transport) })
		}
	}
	for transport, c := range callers {
		t.Run("group names/"+transport, func(t *testing.T) { testGroupNames(t, c, "groups-"+transport) })
	}
	t.Run("events and diagnosis", func(t *testing.T) { testEvents(t, env, callers) })
	t.Run("never stale", func(t *testing.T) { testNeverStale(t, callers) })
	t.Run("unknown fields", func(t *testing.T) { testUnknownFields(t, env, callers) })
	t.Run("rights", func(t *testing.T) { testRights(t, env) })
}

func testMethods(t *testing.T, env *controlplane.Env, s served, c caller, name string) {
	one := func(more object) object {
		req := object{"namespace": "default", "name": name}
		maps.Copy(req, more)
		return req
	}
	refused := func(what string, verb, suffix string, req object, want codes.Code) {
		t.Helper()
		_, err := c.call(t.Context(), s.method(t, verb, suffix), req)
		wantCode(t, what, err, want)
	}
	create := object{"namespace": "default", "request_id": uuid.NewString(), s.body: s.example(t, name)}
	dry := s.must(t, c, s.method(t, "Create", ""), object{"namespace": "default", "validate_only": true, s.body: s.example(t, name)})
	if at(dry, "metadata", "name") != name {
		t.Errorf("validate_only answers %v", dry)
	}
	refused("get after validate_only", "Get", "", one(nil), codes.NotFound)
	created := s.must(t, c, s.method(t, "Create", ""), create)
	if again := s.must(t, c, s.method(t, "Create", ""), create); at(again, "metadata", "uid") != at(created, "metadata", "uid") {
		t.Errorf("a create that is repeated answers %v", again)
	}
	refused("create of another of the name", "Create", "", object{"namespace": "default", s.body: s.example(t, name)}, codes.AlreadyExists)
	refused("create of nothing", "Create", "", object{"namespace": "default"}, codes.InvalidArgument)
	elsewhere := s.example(t, name)
	delete(elsewhere["metadata"].(object), "namespace")
	refused("create in a missing namespace", "Create", "", object{"namespace": "nowhere", s.body: elsewhere}, codes.NotFound)
	refused("replacement without a version", "Replace", "", one(object{s.body: s.example(t, name)}), codes.InvalidArgument)
	got := s.must(t, c, s.method(t, "Get", ""), one(nil))
	if diff := cmp.Diff(created, got); diff != "" {
		t.Errorf("get after create (-created +got):\n%s", diff)
	}
	basic := s.must(t, c, s.method(t, "Get", ""), one(object{"view": "BASIC"}))
	if at(basic, "metadata", "uid") != at(got, "metadata", "uid") || len(at(basic, "spec").(object)) == 0 {
		t.Errorf("BASIC is %v", basic)
	}
	list := s.must(t, c, s.method(t, "List", "s"), object{"namespace": "default", "filter": `name = "` + name + `"`, "view": "FULL"})
	if diff := cmp.Diff(got, at(list, "items", "0")); diff != "" {
		t.Errorf("list (-get +list):\n%s", diff)
	}
	event := s.must(t, c, s.method(t, "Watch", "s"), object{"namespace": "default", "filter": `name = "` + name + `"`})
	if diff := cmp.Diff([]any{"ADDED", got}, []any{event["type"], at(event, lowerFirst(s.body))}); diff != "" {
		t.Errorf("watch (-want +got):\n%s", diff)
	}

	// update: by mask, and by what is given
	labelled := s.must(t, c, s.method(t, "Update", ""), one(object{"update_mask": "metadata.labels.team", s.body: object{"metadata": object{"labels": object{"team": "a", "other": "b"}}, "spec": object{"suspend": true}}}))
	if diff := cmp.Diff(object{"team": "a"}, at(labelled, "metadata", "labels")); diff != "" || at(labelled, "spec", "suspend") == true {
		t.Errorf("update by mask changed more or less than it should: %v\n%s", labelled, diff)
	}
	updated := s.must(t, c, s.method(t, "Update", ""), one(object{s.body: object{"metadata": object{"annotations": object{"note": "n"}}}}))
	if at(updated, "metadata", "annotations", "note") != "n" || at(updated, "metadata", "labels", "team") != "a" {
		t.Errorf("update by what is given: %v", updated)
	}
	if diff := cmp.Diff(got["spec"], updated["spec"]); diff != "" {
		t.Errorf("update changed the spec:\n%s", diff)
	}
	refused("update of an old version", "Update", "", one(object{"etag": at(got, "metadata", "resourceVersion"), s.body: object{"metadata": object{"labels": object{"team": "z"}}}}), codes.Aborted)
	another := object{"metadata": object{"uid": "another", "labels": object{"team": "z"}}}
	refused("update of another object of the name", "Update", "", one(object{s.body: another}), codes.Aborted)
	refused("apply to another object of the name", "Apply", "", one(object{s.body: another}), codes.Aborted)
	other := s.example(t, name)
	other["metadata"].(object)["uid"] = "another"
	refused("replacement of another object of the name", "Replace", "", one(object{"allow_overwrite": true, s.body: other}), codes.Aborted)
	refused("update of the status", "Update", "", one(object{"update_mask": "status", s.body: object{}}), codes.InvalidArgument)
	removed := s.must(t, c, s.method(t, "Update", ""), one(object{"update_mask": "metadata.labels", s.body: object{}}))
	if at(removed, "metadata", "labels") != nil {
		t.Errorf("a masked field that is not given stays: %v", at(removed, "metadata"))
	}

	// validate_only changes nothing
	for _, verb := range []string{"Suspend", "Resume"} {
		s.must(t, c, s.method(t, verb, ""), one(object{"validate_only": true}))
	}
	if now := s.must(t, c, s.method(t, "Get", ""), one(nil)); at(now, "metadata", "resourceVersion") != at(removed, "metadata", "resourceVersion") {
		t.Error("validate_only changed the object")
	}
	if suspended := s.must(t, c, s.method(t, "Suspend", ""), one(nil)); at(suspended, "spec", "suspend") != true {
		t.Errorf("suspend: %v", at(suspended, "spec"))
	}
	if resumed := s.must(t, c, s.method(t, "Resume", ""), one(nil)); at(resumed, "spec", "suspend") == true {
		t.Errorf("resume: %v", at(resumed, "spec"))
	}
	if s.Groups != "" {
		scaled := s.must(t, c, s.method(t, "Scale", ""), one(object{"replicas": 3, "max_replicas": 7}))
		group := at(scaled, append(strings.Split(s.Groups, "."), "0")...)
		if at(group, "replicas") != 3.0 || at(group, "maxReplicas") != 7.0 || at(group, "template") == nil {
			t.Errorf("scale: %v", group)
		}
		refused("scale of a group that is not there", "Scale", "", one(object{"worker_group": "nope", "replicas": 1}), codes.InvalidArgument)
		refused("scale against the rules", "Scale", "", one(object{"min_replicas": 9, "max_replicas": 1}), codes.InvalidArgument)
	}

	// apply: owns what it names, and is judged as merged
	applied := s.must(t, c, s.method(t, "Apply", ""), one(object{"field_manager": "tester", s.body: object{"metadata": object{"labels": object{"by": "apply"}}}}))
	if at(applied, "metadata", "labels", "by") != "apply" || at(applied, "spec") == nil {
		t.Errorf("apply: %v", applied)
	}
	refused("apply of another's field", "Apply", "", one(object{"field_manager": "other", s.body: object{"metadata": object{"labels": object{"by": "other"}}}}), codes.Aborted)
	forced := s.must(t, c, s.method(t, "Apply", ""), one(object{"field_manager": "other", "force": true, s.body: object{"metadata": object{"labels": object{"by": "other"}}}}))
	if at(forced, "metadata", "labels", "by") != "other" {
		t.Errorf("forced apply: %v", at(forced, "metadata"))
	}
	refused("apply of nothing there, against the rules", "Apply", "", object{"namespace": "default", "name": name + "-new", s.body: object{"spec": object{}}}, codes.InvalidArgument)
	fresh := s.example(t, name+"-new")
	made := s.must(t, c, s.method(t, "Apply", ""), object{"namespace": "default", "name": name + "-new", s.body: fresh})
	if at(made, "metadata", "uid") == nil {
		t.Errorf("apply made %v", made)
	}

	page := object{"namespace": "default", "page_size": 1, "filter": `name : "` + name + `"`}
	for _, want := range []string{name, name + "-new"} {
		answer, err := c.call(t.Context(), s.method(t, "List", "s"), page)
		if err != nil || at(answer, "items", "0", "metadata", "name") != want || at(answer, "items", "1") != nil {
			t.Errorf("a page is %v, %v, want %s", answer, err, want)
		}
		page["page_token"] = answer["nextPageToken"]
	}

	// replace: with a version it says all, the last finalizer included
	held := s.must(t, c, s.method(t, "Update", ""), one(object{s.body: object{"metadata": object{"finalizers": []any{"example.com/hold"}}}}))
	bare := s.example(t, name)
	kept := s.must(t, c, s.method(t, "Replace", ""), one(object{"allow_overwrite": true, s.body: bare}))
	if diff := cmp.Diff([]any{"example.com/hold"}, at(kept, "metadata", "finalizers")); diff != "" {
		t.Errorf("finalizers after a replacement that was not read before (-want +got):\n%s", diff)
	}
	refused("replace of an old version", "Replace", "", one(object{s.body: held}), codes.Aborted)
	delete(kept["metadata"].(object), "finalizers")
	cleared := s.must(t, c, s.method(t, "Replace", ""), one(object{s.body: kept}))
	if at(cleared, "metadata", "finalizers") != nil {
		t.Errorf("the last finalizer cannot be cleared: %v", at(cleared, "metadata"))
	}

	// wait
	refused("wait in vain", "Wait", "", one(object{"for": "condition=Never", "timeout": "0.2s"}), codes.DeadlineExceeded)
	go func() {
		time.Sleep(100 * time.Millisecond)
		_ = s.kubernetes(t, env).Delete(context.Background(), name, metav1.DeleteOptions{})
	}()
	s.must(t, c, s.method(t, "Wait", ""), one(object{"for": "deleted", "timeout": "300s"}))
	refused("get after delete", "Get", "", one(nil), codes.NotFound)
	s.must(t, c, s.method(t, "Wait", ""), one(object{"for": "deleted"}))
	s.must(t, c, s.method(t, "Delete", ""), object{"namespace": "default", "name": name + "-new"})
	refused("delete again", "Delete", "", object{"namespace": "default", "name": name + "-new"}, codes.NotFound)
	s.must(t, c, s.method(t, "Delete", ""), object{"namespace": "default", "name": name + "-new", "allow_missing": true})
	waitForStatus(t, env, s, c, name+"-state")
}

func lowerFirst(field string) string { // cron_job becomes cronJob
	head, tail, ok := strings.Cut(field, "_")
	if !ok {
		return head
	}
	return head + strings.ToUpper(tail[:1]) + tail[1:]
}

// waitForStatus waits for what only a status can tell, set while the wait runs.
func waitForStatus(t *testing.T, env *controlplane.Env, s served, c caller, name string) {
	type step struct {
		what string
		set  object
		want codes.Code
	}
	steps := map[string][]step{
		"RayCluster": {{"ready", object{"state": "ready", "observedGeneration": 1}, codes.OK}},
		"RayJob": {
			{"ready", object{"jobDeploymentStatus": "Running", "observedGeneration": 1}, codes.OK},
			{"complete", object{"jobDeploymentStatus": "Failed", "observedGeneration": 1, "message": "exit code 1"}, codes.FailedPrecondition},
		},
		"RayService": {
			{"ready", object{"observedGeneration": 1, "conditions": []any{conditionOf("Ready", "True", "NonZeroServeEndpoints")}}, codes.OK},
			{"condition=UpgradeInProgress=False", object{"observedGeneration": 1, "conditions": []any{conditionOf("UpgradeInProgress", "False", "NoPendingCluster")}}, codes.OK},
			{"ready", object{"observedGeneration": 1, "conditions": []any{conditionOf("Ready", "False", "InitializingTimeout")}}, codes.FailedPrecondition},
		},
	}[s.Checks.Kind]
	s.must(t, c, s.method(t, "Create", ""), object{"namespace": "default", s.body: s.example(t, name)})
	for _, step := range steps {
		go func() {
			time.Sleep(100 * time.Millisecond)
			k := s.kubernetes(t, env)
			now, err := k.Get(context.Background(), name, metav1.GetOptions{})
			if err == nil {
				now.Object["status"] = asUnstructured(object{"kind": "x", "status": step.set}).Object["status"]
				_, err = k.UpdateStatus(context.Background(), now, metav1.UpdateOptions{})
			}
			if err != nil {
				t.Errorf("setting the status: %v", err)
			}
		}()
		_, err := c.call(t.Context(), s.method(t, "Wait", ""), object{"namespace": "default", "name": name, "for": step.what, "timeout": "300s"})
		wantCode(t, "wait for "+step.what, err, step.want)
	}
	if s.Checks.Kind == "RayService" { // the operator does not look at changes of a service that is suspended
		k := s.kubernetes(t, env)
		for range 2 {
			s.must(t, c, s.method(t, "Suspend", ""), object{"namespace": "default", "name": name})
			now, err := k.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			now.Object["status"] = asUnstructured(object{"kind": "x", "status": object{"observedGeneration": 1, "conditions": []any{conditionOf("Suspended", "True", "SuspendComplete")}}}).Object["status"]
			if _, err := k.UpdateStatus(t.Context(), now, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			s.must(t, c, s.method(t, "Wait", ""), object{"namespace": "default", "name": name, "for": "suspended", "timeout": "300s"})
			s.must(t, c, s.method(t, "Resume", ""), object{"namespace": "default", "name": name})
			_, err = c.call(t.Context(), s.method(t, "Wait", ""), object{"namespace": "default", "name": name, "for": "suspended", "timeout": "0.2s"})
			wantCode(t, "wait for suspended after it was resumed", err, codes.DeadlineExceeded)
		}
	}
	if s.Checks.Kind == "RayJob" {
		_, err := c.call(t.Context(), s.method(t, "Suspend", ""), object{"namespace": "default", "name": name})
		wantCode(t, "suspend a job that has ended", err, codes.FailedPrecondition)
	}
	s.must(t, c, s.method(t, "Delete", ""), object{"namespace": "default", "name": name})
}

func conditionOf(kind, status, reason string) object {
	return object{"type": kind, "status": status, "reason": reason, "message": "because", "lastTransitionTime": "2026-01-31T12:00:00Z", "observedGeneration": 1}
}

func testEvents(t *testing.T, env *controlplane.Env, callers map[string]caller) {
	s := allServed()[0]
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	created := s.must(t, callers["rest"], s.method(t, "Create", ""), object{"namespace": "default", s.body: s.example(t, "ailing")})
	pod, err := kube.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "ailing-head-x", Labels: map[string]string{"ray.io/cluster": "ailing", "ray.io/node-type": "head"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "ray-head", Image: "rayproject/ray:nope"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "ray-head", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}}}
	if _, err := kube.CoreV1().Pods("default").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	uid, _ := at(created, "metadata", "uid").(string)
	for i, ref := range []corev1.ObjectReference{
		{Kind: "RayCluster", Namespace: "default", Name: "ailing", UID: "another"}, // an earlier cluster of the name
		{Kind: "RayCluster", Namespace: "default", Name: "ailing", UID: types.UID(uid)},
		{Kind: "Pod", Namespace: "default", Name: pod.Name, UID: pod.UID},
	} {
		when := metav1.NewTime(time.Date(2026, 1, 31, 12, i, 0, 0, time.UTC))
		if _, err := kube.CoreV1().Events("default").Create(t.Context(), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "e-"}, InvolvedObject: ref, Type: corev1.EventTypeWarning, Reason: "FailedMount", Message: `secret "s" not found`,
			FirstTimestamp: when, LastTimestamp: when, Count: 2,
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for transport, c := range callers {
		events := func(children bool) (names []string) {
			answer := s.must(t, c, s.method(t, "List", "Events"), object{"namespace": "default", "name": "ailing", "include_children": children})
			list, _ := answer["events"].([]any)
			for _, e := range list {
				names = append(names, at(e, "object", "name").(string))
			}
			return names
		}
		if diff := cmp.Diff([]string{"ailing"}, events(false)); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", transport, diff)
		}
		if diff := cmp.Diff([]string{"ailing-head-x", "ailing"}, events(true)); diff != "" {
			t.Errorf("%s: events with children (-want +got):\n%s", transport, diff)
		}
		answer := s.must(t, c, s.method(t, "Diagnose", ""), object{"namespace": "default", "name": "ailing"})
		var reasons []string
		findings, _ := answer["findings"].([]any)
		for _, f := range findings {
			reasons = append(reasons, at(f, "severity").(string)+" "+at(f, "reason").(string))
		}
		if diff := cmp.Diff([]string{"WARNING NotObserved", "ERROR ImagePullFailed", "ERROR VolumeMissing"}, reasons); diff != "" || answer["ready"] == true {
			t.Errorf("%s: diagnosis (-want +got):\n%s\n%v", transport, diff, answer)
		}
	}
}

// testGroupNames holds that an empty name of a worker group is another thing than none, as for the API server.
func testGroupNames(t *testing.T, c caller, name string) {
	for _, s := range allServed() {
		body := s.example(t, name)
		spec := at(body, "spec").(object)
		for _, below := range []string{"jobTemplate", "rayClusterSpec", "rayClusterConfig"} {
			if inner, ok := spec[below].(object); ok {
				spec = inner
			}
		}
		group := at(spec, "workerGroupSpecs", "0").(object)
		spec["workerGroupSpecs"] = []any{group}
		group["groupName"] = ""
		create := object{"namespace": "default", "validate_only": true, s.body: body}
		s.must(t, c, s.method(t, "Create", ""), create)
		delete(group, "groupName")
		_, err := c.call(t.Context(), s.method(t, "Create", ""), create)
		wantCode(t, s.Checks.Kind+" with a group without a name", err, codes.InvalidArgument)
		if err != nil && !strings.Contains(err.Error(), "workerGroupSpecs[0].groupName: Required") {
			t.Errorf("%s: the refusal does not name the field: %v", s.Checks.Kind, err)
		}
	}
}
