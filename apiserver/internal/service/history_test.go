package service_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/history"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// remember stores a record that ended some minutes after 1970 began.
func (w *world) remember(t *testing.T, kind, namespace, name string, minutes int, result string) {
	t.Helper()
	r := &history.Record{
		Summary: history.Summary{
			Key:   history.Key{Kind: kind, Namespace: namespace, Name: name, UID: "uid-" + name, Created: time.Unix(1, 0).UTC()},
			Ended: time.Unix(int64(minutes)*60, 0).UTC(), Result: result, JobID: "id-" + name, Cluster: name + "-cluster",
		},
		Object:     json.RawMessage(fmt.Sprintf(`{"kind":%q,"spec":{"suspend":true}}`, kind)),
		RayCluster: json.RawMessage(`{"kind":"RayCluster"}`),
		Events:     []json.RawMessage{json.RawMessage(`{"reason":"Created","message":"m","involvedObject":{"kind":"RayJob"}}`)},
		Pods:       []json.RawMessage{json.RawMessage(`{"kind":"Pod"}`)},
		RayJob:     json.RawMessage(`{"entrypoint":"python x.py"}`),
		Nodes:      nodeLogs(name),
	}
	if kind == "RayJob" {
		r.Attempt = 1
	}
	if _, err := w.past.Put(t.Context(), r, strings.NewReader("log")); err != nil {
		t.Fatal(err)
	}
}

// listHistory returns the names on all pages.
func (w *world) listHistory(t *testing.T, req *raygatev2.ListHistoryRequest) (names []string, err error) {
	t.Helper()
	req.Namespace = "default"
	for {
		resp, err := w.history.ListHistory(t.Context(), req)
		if err != nil {
			return nil, err
		}
		for _, r := range resp.GetRecords() {
			names = append(names, r.GetName())
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			return names, nil
		}
	}
}

func TestListHistory(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.remember(t, "RayJob", "default", fmt.Sprintf("job-%d", i), i, []string{"SUCCEEDED", "FAILED"}[i%2])
	}
	w.remember(t, "RayCluster", "default", "demo", 2, "ready")
	w.remember(t, "RayJob", "other", "foreign", 2, "FAILED")
	minute := func(n int) *timestamppb.Timestamp { return &timestamppb.Timestamp{Seconds: int64(n) * 60} }
	all := []string{"job-4", "job-3", "demo", "job-2", "job-1", "job-0"}
	type request = raygatev2.ListHistoryRequest
	for name, tc := range map[string]struct {
		req    *request
		denied string
		want   []string
		code   codes.Code
		says   []string
	}{
		"all":                {req: &request{}, want: all},
		"page by page":       {req: &request{PageSize: 2}, want: all},
		"a kind":             {req: &request{Kind: "RayCluster"}, want: []string{"demo"}},
		"a name":             {req: &request{Name: "job-1"}, want: []string{"job-1"}},
		"since and until":    {req: &request{Since: minute(1), Until: minute(3)}, want: []string{"demo", "job-2", "job-1"}},
		"a filter":           {req: &request{PageSize: 1, Filter: `result = "FAILED" AND name : "job" AND logBytes > 2 AND endTime > "1970-01-01T00:02:00Z"`}, want: []string{"job-3"}},
		"what may be listed": {req: &request{}, denied: "list rayjobs", want: []string{"demo"}},
		"a name to get":      {req: &request{Name: "job-1", Kind: "RayJob"}, denied: "list rayjobs", want: []string{"job-1"}},
		"no right":           {req: &request{Kind: "RayJob"}, denied: "list rayjobs", code: codes.PermissionDenied, says: []string{"list rayjobs"}},
		"no right at all":    {req: &request{}, denied: "list rayjobs,list rayclusters,list rayservices", code: codes.PermissionDenied},
		"an unknown kind":    {req: &request{Kind: "Pod"}, code: codes.InvalidArgument, says: []string{"kind", "Pod", "RayJob, RayCluster, RayService"}},
		"an unknown field":   {req: &request{Filter: `phase = "x"`}, code: codes.InvalidArgument, says: []string{"filter", `"phase"`, "result"}},
		"a bad name":         {req: &request{Name: "../x"}, code: codes.InvalidArgument, says: []string{"name"}},
		"a bad time":         {req: &request{Since: &timestamppb.Timestamp{Seconds: -1 << 50}}, code: codes.InvalidArgument, says: []string{"since"}},
		"a negative size":    {req: &request{PageSize: -1}, code: codes.InvalidArgument, says: []string{"page_size", "at most 1000"}},
		"a bad token":        {req: &request{PageToken: "x"}, code: codes.InvalidArgument, says: []string{"page_token"}},
	} {
		t.Run(name, func(t *testing.T) {
			w.change(func() {
				w.denied = map[string]bool{}
				for what := range strings.SplitSeq(tc.denied, ",") {
					w.denied[what] = true
				}
			})
			got, err := w.listHistory(t, tc.req)
			wantCode(t, "list", err, tc.code, tc.says...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
	w.change(func() { w.denied = nil })
	if code, _, body, _ := w.send(t, "GET", "history?since=yesterday", ""); code != 400 || !strings.Contains(body, "is not a time such as") {
		t.Errorf("since yesterday: %d %s", code, body)
	}
	if code, _, body, err := w.send(t, "GET", "history?kind=RayJob&until=1970-01-01T00:01:00Z&pageSize=1", ""); code != 200 || err != nil ||
		!strings.Contains(body, `"name":"job-0"`) || !strings.Contains(body, `"endTime":"1970-01-01T00:00:00Z"`) {
		t.Errorf("by REST: %d %s, %v", code, body, err)
	}
	_ = w.past.Close()
	_, err := w.listHistory(t, &request{})
	wantCode(t, "list of a store that is away", err, codes.Unavailable)
}

func TestGetHistory(t *testing.T) {
	w := newWorld(t)
	w.remember(t, "RayJob", "default", "train", 1, "FAILED")
	req := &raygatev2.GetHistoryRequest{Namespace: "default", Kind: "RayJob", Name: "train"}
	resp, err := w.history.GetHistory(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if r := resp.GetRecord(); r.GetUid() != "uid-train" || r.GetAttempt() != 1 || r.GetResult() != "FAILED" || !r.GetHasLog() || r.GetLogBytes() != 3 {
		t.Errorf("record %v", r)
	}
	if !resp.GetObject().GetFields()["spec"].GetStructValue().GetFields()["suspend"].GetBoolValue() || resp.GetRayCluster() == nil ||
		len(resp.GetPods()) != 1 || resp.GetEvents()[0].GetReason() != "Created" || resp.GetRayJob().GetFields()["entrypoint"].GetStringValue() != "python x.py" || len(resp.GetNodeLogs()) != 3 || !resp.GetNodeLogs()[0].GetHead() || resp.GetNodeLogs()[2].GetPod() != "worker" {
		t.Errorf("parts of the record: %v", resp)
	}
	for right, lacks := range map[string]func(*raygatev2.GetHistoryResponse) bool{
		"list pods":          func(r *raygatev2.GetHistoryResponse) bool { return r.Pods == nil },
		"list events":        func(r *raygatev2.GetHistoryResponse) bool { return r.Events == nil },
		"get rayclusters":    func(r *raygatev2.GetHistoryResponse) bool { return r.RayCluster == nil },
		"get services/proxy": func(r *raygatev2.GetHistoryResponse) bool { return r.RayJob == nil && r.NodeLogs == nil },
	} {
		w.change(func() { w.denied = map[string]bool{right: true} })
		if resp, err := w.history.GetHistory(t.Context(), req); err != nil || !lacks(resp) || resp.GetObject() == nil {
			t.Errorf("without the right to %s: %v, %v", right, resp, err)
		}
	}
	for what, tc := range map[string]struct {
		change func(*raygatev2.GetHistoryRequest)
		denied string
		code   codes.Code
	}{
		"no right":        {func(*raygatev2.GetHistoryRequest) {}, "get rayjobs", codes.PermissionDenied},
		"unknown attempt": {func(r *raygatev2.GetHistoryRequest) { r.Attempt = 2 }, "", codes.NotFound},
		"unknown UID":     {func(r *raygatev2.GetHistoryRequest) { r.Uid = "x" }, "", codes.NotFound},
		"unknown name":    {func(r *raygatev2.GetHistoryRequest) { r.Name = "x" }, "", codes.NotFound},
		"no name":         {func(r *raygatev2.GetHistoryRequest) { r.Name = "" }, "", codes.InvalidArgument},
		"no kind":         {func(r *raygatev2.GetHistoryRequest) { r.Kind = "" }, "", codes.InvalidArgument},
	} {
		w.change(func() { w.denied = map[string]bool{tc.denied: true} })
		changed := &raygatev2.GetHistoryRequest{Namespace: "default", Kind: "RayJob", Name: "train"}
		tc.change(changed)
		_, err := w.history.GetHistory(t.Context(), changed)
		wantCode(t, what, err, tc.code)
	}
}

// TestDiagnoseDeleted shows that the diagnosis of a deleted object is that of its record, as far as the caller may read that.
func TestDiagnoseDeleted(t *testing.T) {
	w := newWorld(t)
	w.job(rayv1.JobDeploymentStatusFailed, rayv1.JobStatusFailed, func(j *rayv1.RayJob) {
		j.DeletionTimestamp, j.Generation = new(metav1.Now()), 2
		j.Status.Reason, j.Status.Message = rayv1.SubmissionFailed, "no head"
	})
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "head", UID: "p"}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes"}}
	warning := corev1.Event{Type: corev1.EventTypeWarning, Reason: "FailedMount", Message: "no volume", InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "head", UID: "p"}}
	text := func(v any) json.RawMessage {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	r := &history.Record{
		Summary: history.Summary{Key: history.Key{Kind: "RayJob", Namespace: "default", Name: "train", UID: "u", Attempt: 1}, Ended: time.Unix(60, 0)},
		Object:  text(w.objects["RayJob/train"]), Pods: []json.RawMessage{text(pod)}, Events: []json.RawMessage{text(warning)},
	}
	if _, err := w.past.Put(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	delete(w.objects, "RayJob/train")
	for denied, want := range map[string][]string{
		"":            {"SubmissionFailed", "Unschedulable", "VolumeMissing", "Deleted"},
		"list pods":   {"SubmissionFailed", "Deleted"},
		"list events": {"SubmissionFailed", "Unschedulable", "Deleted"},
	} {
		w.change(func() { w.denied = map[string]bool{denied: true} })
		resp, err := w.jobs.DiagnoseJob(t.Context(), &raygatev2.DiagnoseJobRequest{Namespace: "default", Name: "train"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range resp.GetFindings() {
			got = append(got, f.GetReason())
		}
		if diff := cmp.Diff(want, got); diff != "" || resp.GetReady() {
			t.Errorf("without %q: ready %v, findings (-want +got):\n%s", denied, resp.GetReady(), diff)
		}
	}
	w.change(func() { w.denied = map[string]bool{"get rayjobs": true} })
	_, err := w.jobs.DiagnoseJob(t.Context(), &raygatev2.DiagnoseJobRequest{Namespace: "default", Name: "train"})
	wantCode(t, "no right", err, codes.PermissionDenied)
	w.change(func() { w.denied = nil })
	_, err = w.jobs.DiagnoseJob(t.Context(), &raygatev2.DiagnoseJobRequest{Namespace: "default", Name: "other"})
	wantCode(t, "no record", err, codes.NotFound)
}

// TestDiagnoseAttempts shows where a diagnosis comes from: the API server, the record of the last attempt next to it once the cluster is
// gone, or only a record.
func TestDiagnoseAttempts(t *testing.T) {
	w := newWorld(t)
	text := func(v any) json.RawMessage {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	store := func(uid string, attempt int, state rayv1.JobDeploymentStatus, cluster, pod string) {
		w.job(state, rayv1.JobStatusFailed, func(j *rayv1.RayJob) {
			j.UID, j.Status.Reason, j.Status.Message, j.Status.Failed = types.UID(uid), rayv1.AppFailed, fmt.Sprintf("exit %d of %s", attempt, uid), new(int32(attempt))
			j.Status.RayClusterName = cluster
		})
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod, UID: types.UID(pod)}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes"}}
		warning := corev1.Event{
			ObjectMeta: metav1.ObjectMeta{UID: types.UID("event of " + pod)}, Type: corev1.EventTypeWarning, Reason: "FailedMount", Message: "no volume",
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: pod, UID: p.UID},
		}
		r := &history.Record{
			Summary: history.Summary{
				Key:   history.Key{Kind: "RayJob", Namespace: "default", Name: "train", UID: uid, Created: time.Unix(int64(len(uid)), 0), Attempt: attempt},
				Ended: time.Unix(60, 0), Cluster: cluster,
			},
			Object: text(w.objects["RayJob/train"]), Pods: []json.RawMessage{text(p)}, Events: []json.RawMessage{text(warning)},
		}
		if _, err := w.past.Put(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	store("u", 1, rayv1.JobDeploymentStatusFailed, "older", "pod-0")
	store("uid", 1, rayv1.JobDeploymentStatusRetrying, "first", "pod-1")
	store("uid", 2, rayv1.JobDeploymentStatusFailed, "demo", "pod-2")
	ask := func(req *raygatev2.DiagnoseJobRequest) (found []string, err error) {
		req.Namespace, req.Name = "default", "train"
		resp, err := w.jobs.DiagnoseJob(t.Context(), req)
		for _, f := range resp.GetFindings() {
			found = append(found, f.GetReason()+" "+f.GetObject().GetName()+" "+f.GetMessage())
		}
		return found, err
	}
	const of = "there is no such object any more; the rest is from its record of 1970-01-01T00:01:00Z"
	recorded := func(pod string, more ...string) []string {
		return append([]string{"Unschedulable " + pod + " 0/3 nodes", "VolumeMissing " + pod + " no volume"}, more...)
	}
	for name, tc := range map[string]struct {
		req    *raygatev2.DiagnoseJobRequest
		gone   string // objects that do not exist
		denied string
		want   []string
		code   codes.Code
		says   string
	}{
		"the last attempt on its cluster": {req: &raygatev2.DiagnoseJobRequest{}, want: []string{"EntrypointFailed train exit 2 of uid"}},
		"its cluster is gone": {
			req: &raygatev2.DiagnoseJobRequest{Attempt: 2}, gone: "RayCluster/demo", want: append([]string{"EntrypointFailed train exit 2 of uid"}, recorded("pod-2")...),
		},
		"its cluster is gone, without rights": {
			req: &raygatev2.DiagnoseJobRequest{}, gone: "RayCluster/demo", denied: "list events", want: []string{"EntrypointFailed train exit 2 of uid", "Unschedulable pod-2 0/3 nodes"},
		},
		"an earlier attempt": {
			req:  &raygatev2.DiagnoseJobRequest{Attempt: 1, Uid: "uid"},
			want: append([]string{"EntrypointFailed train exit 1 of uid"}, recorded("pod-1", "Recorded train this is attempt 1; the rest is from its record of 1970-01-01T00:01:00Z")...),
		},
		"a RayJob that had the name": {
			req: &raygatev2.DiagnoseJobRequest{Uid: "u"}, want: append([]string{"EntrypointFailed train exit 1 of u"}, recorded("pod-0", "Deleted train "+of)...),
		},
		"no such attempt": {req: &raygatev2.DiagnoseJobRequest{Attempt: 7}, code: codes.NotFound, says: "it has 1, 2"},
		"no such UID":     {req: &raygatev2.DiagnoseJobRequest{Uid: "other"}, code: codes.NotFound, says: "other"},
		"bad attempt":     {req: &raygatev2.DiagnoseJobRequest{Attempt: -1}, code: codes.InvalidArgument, says: "attempt"},
		"no right":        {req: &raygatev2.DiagnoseJobRequest{Attempt: 1}, denied: "get rayjobs", code: codes.PermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			w.change(func() { w.denied = map[string]bool{tc.denied: true} })
			if gone, ok := w.objects[tc.gone]; ok {
				w.change(func() { delete(w.objects, tc.gone) })
				defer w.change(func() { w.objects[tc.gone] = gone })
			}
			got, err := ask(tc.req)
			wantCode(t, "diagnose", err, tc.code, tc.says)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
	w.change(func() { w.denied = nil; delete(w.objects, "RayCluster/demo") })
	_ = w.past.Close()
	if got, err := ask(&raygatev2.DiagnoseJobRequest{}); err != nil || len(got) != 1 {
		t.Errorf("with a store that is away: %q, %v", got, err)
	}
	_, err := ask(&raygatev2.DiagnoseJobRequest{Attempt: 1})
	wantCode(t, "an earlier attempt with a store that is away", err, codes.Unavailable)
}
