package service_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/raytest"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
	"github.com/raygate/raygate/test/raysim"
)

func (w *world) submit(t *testing.T, s *raygatev2.Submission) (*raygatev2.Submission, error) {
	t.Helper()
	resp, err := w.submissions.CreateSubmission(t.Context(), &raygatev2.CreateSubmissionRequest{Namespace: "default", Cluster: "demo", Submission: s})
	return resp.GetSubmission(), err
}

func (w *world) await(t *testing.T, id, status string) *raygatev2.Submission {
	t.Helper()
	var got *raygatev2.Submission
	await.NoError(t, "the job to be "+status, func() error {
		resp, err := w.submissions.GetSubmission(t.Context(), &raygatev2.GetSubmissionRequest{Namespace: "default", Cluster: "demo", SubmissionId: id})
		if err != nil {
			t.Fatal(err)
		}
		if got = resp.GetSubmission(); got.GetStatus() != status {
			return fmt.Errorf("the job is %v", got)
		}
		return nil
	})
	return got
}

// awaitLog waits until the log of a job is this.
func (w *world) awaitLog(t *testing.T, id, want string) {
	t.Helper()
	await.NoError(t, "the log", func() error {
		code, _, body, err := w.send(t, "GET", "clusters/demo/submissions/"+id+"/logs", "")
		if err == nil && (code != 200 || body != want) {
			err = fmt.Errorf("it is answered %d %q", code, body)
		}
		return err
	})
}

func TestSubmissionLife(t *testing.T) {
	w := newWorld(t)
	env, err := structpb.NewStruct(map[string]any{"env_vars": map[string]any{"GREETING": "hello"}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.submit(t, &raygatev2.Submission{
		Entrypoint: `echo "$GREETING"; exit 3`, SubmissionId: "mine", Metadata: map[string]string{"team": "a"}, RuntimeEnv: env,
		EntrypointNumCpus: 0.5, EntrypointMemory: 1 << 30, EntrypointResources: map[string]float64{"tpu": 1}, Status: "SUCCEEDED",
	})
	if err != nil || made.GetSubmissionId() != "mine" || made.GetStatus() == "SUCCEEDED" {
		t.Fatalf("%v, %v", made, err)
	}
	got := w.await(t, "mine", "FAILED")
	if got.GetDriverExitCode() != 3 || got.GetMetadata()["team"] != "a" || got.GetStartTime() == nil || got.GetEndTime() == nil || got.GetType() != "SUBMISSION" ||
		got.GetRuntimeEnv().GetFields()["env_vars"] == nil || !strings.Contains(got.GetMessage(), "hello") {
		t.Errorf("the job is %s", protojson.Format(got))
	}
	_, err = w.submit(t, &raygatev2.Submission{Entrypoint: "other", SubmissionId: "mine"})
	wantCode(t, "the same id", err, codes.AlreadyExists, "submissionId")
	_, err = w.submissions.StopSubmission(t.Context(), &raygatev2.StopSubmissionRequest{Namespace: "default", Cluster: "demo", SubmissionId: "mine"})
	wantCode(t, "stop of a job that has ended", err, codes.FailedPrecondition, "has ended")

	long, err := w.submit(t, &raygatev2.Submission{Entrypoint: "echo started; sleep 60"})
	if err != nil || !strings.HasPrefix(long.GetSubmissionId(), "raysubmit_") {
		t.Fatalf("%v, %v", long, err)
	}
	id := long.GetSubmissionId()
	w.await(t, id, "RUNNING")
	w.awaitLog(t, id, "started\n") // else it may be stopped before its first line
	_, err = w.submissions.DeleteSubmission(t.Context(), &raygatev2.DeleteSubmissionRequest{Namespace: "default", Cluster: "demo", SubmissionId: id})
	wantCode(t, "delete of a job that runs", err, codes.FailedPrecondition, "stop it")
	if _, err = w.submissions.StopSubmission(t.Context(), &raygatev2.StopSubmissionRequest{Namespace: "default", Cluster: "demo", SubmissionId: id}); err != nil {
		t.Fatal(err)
	}
	w.await(t, id, "STOPPED")
	code, header, body, err := w.send(t, "GET", "clusters/demo/submissions/"+id+"/logs?follow=true", "")
	if code != 200 || body != "started\n" || err != nil || !strings.HasPrefix(header.Get("Content-Type"), "text/plain") {
		t.Errorf("log: %d %q %v", code, body, err)
	}
	for _, one := range []string{id, "mine"} {
		if code, _, body, _ := w.send(t, "DELETE", "clusters/demo/submissions/"+one, ""); code != 200 {
			t.Errorf("delete: %d %s", code, body)
		}
	}
	_, err = w.submissions.GetSubmission(t.Context(), &raygatev2.GetSubmissionRequest{Namespace: "default", Cluster: "demo", SubmissionId: id})
	wantCode(t, "get after delete", err, codes.NotFound, id)
	code, _, _, _ = w.send(t, "DELETE", "clusters/demo/submissions/"+id, "")
	if code != 404 {
		t.Errorf("delete after delete: %d", code)
	}
}

func TestSubmissionsByREST(t *testing.T) {
	w := newWorld(t)
	code, header, body, _ := w.send(t, "POST", "clusters/demo/submissions", `{"entrypoint": "echo hi", "submissionId": "a b"}`)
	if code != 201 || header.Get("Location") != "/apis/v2/namespaces/default/clusters/demo/submissions/a%20b" {
		t.Errorf("create: %d %v %s", code, header, body)
	}
	if code, _, body, _ := w.send(t, "GET", "clusters/demo/submissions/a%20b", "", "Accept", "application/yaml"); code != 200 || !strings.Contains(body, "entrypoint: echo hi\n") {
		t.Errorf("get: %d %s", code, body)
	}
	if code, _, body, _ := w.send(t, "POST", "clusters/demo/submissions", `{"entrypont": "x"}`); code != 400 || !strings.Contains(body, "entrypont") {
		t.Errorf("a misspelt field: %d %s", code, body)
	}
}

func TestListSubmissions(t *testing.T) {
	w := newWorld(t)
	for i := range 7 {
		id, at := fmt.Sprintf("s%d", i), int64(1000*(i/2))
		d := raysim.Details{Type: raysim.TypeSubmission, SubmissionID: &id, Status: raysim.Succeeded, StartTime: &at}
		if i == 3 {
			d.Type, d.SubmissionID, d.JobID = raysim.TypeDriver, nil, new("03000000")
		}
		if err := w.ray.Add(d, ""); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	req := &raygatev2.ListSubmissionsRequest{Namespace: "default", Cluster: "demo", PageSize: 2}
	for {
		resp, err := w.submissions.ListSubmissions(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.GetTotalSize() != 7 || len(resp.GetSubmissions()) > 2 {
			t.Errorf("a page of %d of %d", len(resp.GetSubmissions()), resp.GetTotalSize())
		}
		for _, s := range resp.GetSubmissions() {
			got = append(got, s.GetSubmissionId()+s.GetJobId())
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	if want := []string{"s6", "s4", "s5", "03000000", "s2", "s0", "s1"}; !slices.Equal(got, want) {
		t.Errorf("the list is %v, want %v", got, want)
	}
	req.PageToken, req.Cluster = "", "demo"
	first, err := w.submissions.ListSubmissions(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	other := raytest.RayCluster("default/other")
	other.Status = rayv1.RayClusterStatus{State: rayv1.ClusterStateReady, Head: rayv1.HeadInfo{ServiceName: "demo-head-svc"}, ObservedGeneration: other.Generation}
	w.put("RayCluster", other)
	_, err = w.submissions.ListSubmissions(t.Context(), &raygatev2.ListSubmissionsRequest{Namespace: "default", Cluster: "other", PageSize: 2, PageToken: first.GetNextPageToken()})
	wantCode(t, "the token of another cluster", err, codes.InvalidArgument)
	for _, token := range []string{"x", "%%", "bm9udW1iZXIvYQ", base64.RawURLEncoding.EncodeToString([]byte("1000/s4"))} {
		req.PageToken = token
		_, err := w.submissions.ListSubmissions(t.Context(), req)
		wantCode(t, "token "+token, err, codes.InvalidArgument)
	}
}

// An answer that is lost does not lose the job, nor submit it twice.
func TestSubmissionWhoseAnswerIsLost(t *testing.T) {
	w := newWorld(t)
	w.ray.Intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || r.Header.Get("X-Again") != "" {
			return false
		}
		r.Header.Set("X-Again", "yes")
		w.ray.ServeHTTP(discard{header: http.Header{}}, r)
		rw.WriteHeader(http.StatusGatewayTimeout)
		return true
	})
	made, err := w.submit(t, &raygatev2.Submission{Entrypoint: "echo once"})
	if err != nil || len(w.ray.Jobs()) != 1 || made.GetSubmissionId() != *w.ray.Jobs()[0].SubmissionID {
		t.Errorf("%v, %v; Ray has %v", made, err, w.ray.Jobs())
	}
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

func TestSubmissionRefusals(t *testing.T) {
	get := func(w *world, t *testing.T) error {
		_, err := w.submissions.GetSubmission(t.Context(), &raygatev2.GetSubmissionRequest{Namespace: "default", Cluster: "demo", SubmissionId: "x"})
		return err
	}
	create := func(s *raygatev2.Submission) func(*world, *testing.T) error {
		return func(w *world, t *testing.T) error { _, err := w.submit(t, s); return err }
	}
	good := create(&raygatev2.Submission{Entrypoint: "x"})
	ray := func(code int, contentType, body string) func(*world) {
		return func(w *world) {
			w.ray.Intercept(func(rw http.ResponseWriter, _ *http.Request) bool {
				rw.Header().Set("Content-Type", contentType)
				rw.WriteHeader(code)
				_, _ = rw.Write([]byte(body))
				return true
			})
		}
	}
	for name, tc := range map[string]struct {
		do   func(*world)
		call func(*world, *testing.T) error
		code codes.Code
		text string
	}{
		"unknown id":          {call: get, code: codes.NotFound},
		"no cluster":          {do: func(w *world) { delete(w.objects, "RayCluster/demo") }, call: get, code: codes.NotFound},
		"may not get it":      {do: func(w *world) { w.denied["get rayclusters"] = true }, call: get, code: codes.PermissionDenied},
		"may not read":        {do: func(w *world) { w.denied["get services/proxy"] = true }, call: get, code: codes.PermissionDenied},
		"may only read":       {do: func(w *world) { w.denied["create services/proxy"] = true }, call: good, code: codes.PermissionDenied},
		"cluster not ready":   {do: func(w *world) { w.objects["RayCluster/demo"].(*rayv1.RayCluster).Status.State = "" }, call: good, code: codes.FailedPrecondition, text: "not ready"},
		"dashboard away":      {do: func(w *world) { w.down = true }, call: good, code: codes.Unavailable},
		"nothing to run":      {call: create(&raygatev2.Submission{}), code: codes.InvalidArgument, text: "entrypoint"},
		"no submission":       {call: create(nil), code: codes.InvalidArgument},
		"negative CPUs":       {call: create(&raygatev2.Submission{Entrypoint: "x", EntrypointNumCpus: -1}), code: codes.InvalidArgument},
		"an id too long":      {call: create(&raygatev2.Submission{Entrypoint: "x", SubmissionId: strings.Repeat("x", 600)}), code: codes.InvalidArgument},
		"an id of dots":       {call: create(&raygatev2.Submission{Entrypoint: "x", SubmissionId: ".."}), code: codes.InvalidArgument},
		"Ray refuses":         {do: ray(400, "text/plain", "TypeError: no"), call: good, code: codes.InvalidArgument, text: "TypeError"},
		"Ray fails":           {do: ray(500, "text/plain", "Traceback"), call: good, code: codes.Unavailable},
		"no JSON":             {do: ray(200, "application/json", "{"), call: get, code: codes.Unavailable},
		"a page":              {do: ray(200, "text/html", "<html>"), call: get, code: codes.Unavailable},
		"an unknown status":   {do: ray(200, "application/json", `{"status":"ODD"}`), call: get, code: codes.Unavailable},
		"a redirect":          {do: ray(302, "text/plain", ""), call: get, code: codes.Unavailable},
		"the caller's token":  {do: ray(401, "application/json", `{"kind":"Status","code":401}`), call: get, code: codes.Unauthenticated},
		"the proxy forbids":   {do: ray(403, "application/json", `{"kind":"Status","code":403,"message":"services is forbidden"}`), call: get, code: codes.PermissionDenied},
		"a token is asked of": {do: func(w *world) { w.ray.SetToken("x") }, call: get, code: codes.FailedPrecondition},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if tc.do != nil {
				w.change(func() { tc.do(w) })
			}
			wantCode(t, name, tc.call(w, t), tc.code, tc.text)
		})
	}
}

// FuzzSubmissionAnswers has Ray answer anything: no call fails by our own doing, and none hangs.
func FuzzSubmissionAnswers(f *testing.F) {
	f.Add(200, "application/json", `[{"status":"RUNNING","submission_id":"a","runtime_env":{"a":[1,null]},"metadata":{"a":"b"},"start_time":1e300}]`)
	f.Add(200, "application/json", `{"logs":"x","status":"SUCCEEDED","submission_id":"a","runtime_env":{"a":1e400},"end_time":-1}`)
	f.Add(500, "text/plain", "status code 404")
	f.Fuzz(func(t *testing.T, code int, contentType, body string) {
		if code < 200 || code > 599 {
			t.Skip()
		}
		w := newWorld(t)
		w.ray.Intercept(func(rw http.ResponseWriter, _ *http.Request) bool {
			rw.Header()["Content-Type"] = []string{strings.Map(func(r rune) rune {
				if r < ' ' || r > '~' {
					return -1
				}
				return r
			}, contentType)}
			rw.WriteHeader(code)
			_, _ = rw.Write([]byte(body))
			return true
		})
		for _, request := range [][2]string{
			{"GET", "submissions"}, {"GET", "submissions/a"}, {"POST", "submissions"}, {"DELETE", "submissions/a"}, {"POST", "submissions/a:stop"}, {"GET", "submissions/a/logs"},
		} {
			if code == 200 && strings.HasSuffix(request[1], "/logs") && strings.Contains(body, "SUCCEEDED") {
				continue // tried twice, which takes a second; TestLogIsTriedTwice has it
			}
			payload := ""
			if request == [2]string{"POST", "submissions"} {
				payload = `{"entrypoint":"x"}`
			}
			got, _, answer, _ := w.send(t, request[0], "clusters/demo/"+request[1], payload)
			if got == 500 || got >= 400 && !json.Valid([]byte(answer)) {
				t.Errorf("%v: %d %s", request, got, answer)
			}
		}
	})
}

// A log that is not followed is not waited for, when the dashboard knows the job and gives its log neither at once nor as a stream.
func TestLogIsTriedTwice(t *testing.T) {
	w := newWorld(t)
	w.record(t, "a", raysim.Succeeded, "x")
	w.ray.Intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/tail"):
			rw.WriteHeader(http.StatusOK)
		case strings.HasSuffix(r.URL.Path, "/logs"):
			rw.WriteHeader(http.StatusServiceUnavailable)
		default:
			return false
		}
		return true
	})
	if code, _, body, _ := w.send(t, "GET", "clusters/demo/submissions/a/logs", ""); code != 503 {
		t.Errorf("%d %s", code, body)
	}
}

func TestSubmissionMessageIsLossless(t *testing.T) {
	w := newWorld(t)
	if _, err := w.submit(t, &raygatev2.Submission{Entrypoint: "true", SubmissionId: "a"}); err != nil {
		t.Fatal(err)
	}
	w.ray.Update("a", func(d *raysim.Details) {
		d.Status, d.JobID, d.ErrorType, d.Message, d.DriverExitCode = raysim.Failed, new("02000000"), new("JOB_ENTRYPOINT_COMMAND_ERROR"), new("why"), new(0)
		d.StartTime, d.EndTime, d.DriverNodeID = new(int64(1000)), new(int64(2000)), new("ab")
	})
	_, _, body, _ := w.send(t, "GET", "clusters/demo/submissions/a", "")
	var got map[string]any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"submissionId": "a", "entrypoint": "true", "jobId": "02000000", "type": "SUBMISSION", "status": "FAILED", "message": "why", "driverNodeId": "ab",
		"errorType": "JOB_ENTRYPOINT_COMMAND_ERROR", "startTime": "1970-01-01T00:00:01Z", "endTime": "1970-01-01T00:00:02Z", "driverExitCode": 0.0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("submission (-want +got):\n%s", diff)
	}
}

// A page has no more bytes than gRPC clients take, and says where the next one begins.
func TestPagesOfLongSubmissions(t *testing.T) {
	if testing.Short() {
		t.Skip("submits 4 MiB")
	}
	w := newWorld(t)
	want := map[string]bool{}
	for n := range 4 {
		id := fmt.Sprintf("long-%d", n)
		env, err := structpb.NewStruct(map[string]any{"env_vars": map[string]any{"A": strings.Repeat("x", 900<<10)}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.submissions.CreateSubmission(t.Context(), &raygatev2.CreateSubmissionRequest{
			Namespace: "default", Cluster: "demo", Submission: &raygatev2.Submission{Entrypoint: "true", SubmissionId: id, RuntimeEnv: env},
		}); err != nil {
			t.Fatal(err)
		}
		want[id] = true
	}
	req := &raygatev2.ListSubmissionsRequest{Namespace: "default", Cluster: "demo", PageSize: 100}
	for page := 0; ; page++ {
		resp, err := w.submissions.ListSubmissions(t.Context(), req)
		if status.Code(err) == codes.Unavailable && page < 20 {
			continue // the dashboard answers late on a slow machine
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := len(resp.GetSubmissions()); n == 0 || n > 2 || resp.GetTotalSize() != 4 {
			t.Fatalf("page %d has %d of %d submissions", page, n, resp.GetTotalSize())
		}
		for _, s := range resp.GetSubmissions() {
			delete(want, s.GetSubmissionId())
		}
		if req.PageToken = resp.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	if len(want) > 0 {
		t.Errorf("the pages leave out %v", want)
	}
}
