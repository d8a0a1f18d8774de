package service_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
	"github.com/raygate/raygate/test/raysim"
)

var transports = map[string]readLog{"grpc": byGRPC, "rest": byREST}

const running, complete = rayv1.JobDeploymentStatusRunning, rayv1.JobDeploymentStatusComplete

// record gives Ray a job with a log.
func (w *world) record(t *testing.T, id string, status raysim.Status, log string) {
	t.Helper()
	if err := w.ray.Add(raysim.Details{Type: raysim.TypeSubmission, SubmissionID: &id, Status: status, Entrypoint: "x"}, log); err != nil {
		t.Fatal(err)
	}
}

func TestDriverLog(t *testing.T) {
	log := "eins\nzwei\ndrei äöü\nwithout end"
	for transport, read := range transports {
		for _, status := range []raysim.Status{raysim.Running, raysim.Succeeded} {
			t.Run(transport+"/"+string(status), func(t *testing.T) {
				w := newWorld(t)
				w.job(running, rayv1.JobStatusRunning)
				w.record(t, "train-1", status, log)
				for name, tc := range map[string]struct {
					q    query
					want string
				}{
					"all":            {want: log},
					"driver":         {q: query{Source: "driver"}, want: log},
					"two lines":      {q: query{TailLines: new(int32(2))}, want: "drei äöü\nwithout end"},
					"no line":        {q: query{TailLines: new(int32(0))}},
					"many lines":     {q: query{TailLines: new(int32(100))}, want: log},
					"from an offset": {q: query{Offset: 5}, want: log[5:]},
					"from the end":   {q: query{Offset: int64(len(log))}},
					"from beyond":    {q: query{Offset: 1 << 40}},
				} {
					got, next, err := read(t, w, tc.q)
					if err != nil || got != tc.want {
						t.Errorf("%s: %q, %v; want %q", name, got, err, tc.want)
					}
					if transport == "grpc" && got != "" && next != int64(len(log)) {
						t.Errorf("%s: the next offset is %d, want %d", name, next, len(log))
					}
				}
			})
		}
	}
}

// A log that is followed survives a dashboard that goes and comes back, and has every byte once.
func TestFollowAcrossARestartingDashboard(t *testing.T) {
	for transport, read := range transports {
		for name, q := range map[string]query{
			"all": {Follow: true}, "a tail": {Follow: true, TailLines: new(int32(1))}, "an offset": {Follow: true, Offset: 4},
		} {
			t.Run(transport+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.job(running, rayv1.JobStatusRunning)
				w.record(t, "train-1", raysim.Running, "one\ntwo\n")
				go func() {
					for begin := time.Now(); w.ray.Tails() == 0 && time.Since(begin) < 10*time.Second; { // a tail shows what is written after it begins
						time.Sleep(time.Millisecond)
					}
					for i := range 40 {
						w.ray.AppendLog("train-1", fmt.Sprintf("line %d\n", i))
						switch i {
						case 10: // the head is away, and then there again with the same records
							w.change(func() { w.down = true })
							w.ray.CutTails()
						case 20:
							w.change(func() { w.down = false })
						case 30:
							w.ray.CutTails()
						}
						time.Sleep(20 * time.Millisecond)
					}
					w.ray.Update("train-1", func(d *raysim.Details) { d.Status = raysim.Succeeded })
				}()
				got, next, err := read(t, w, q)
				if err != nil {
					t.Fatal(err)
				}
				var want strings.Builder
				for i := range 40 {
					fmt.Fprintf(&want, "line %d\n", i)
				}
				whole := "one\ntwo\n" + want.String()
				if q.TailLines == nil && got != whole[q.Offset:] || q.TailLines != nil && !strings.HasSuffix(whole, got) || len(got) < want.Len()-20 {
					t.Errorf("the log is\n%s", got)
				}
				if transport == "grpc" && next != int64(len(whole)) {
					t.Errorf("the next offset is %d, want %d", next, len(whole))
				}
			})
		}
	}
}

// Ray returns the end of a long log only, with a note on top. Nothing of that shows.
func TestLongLog(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 17 MiB by each transport")
	}
	var b strings.Builder
	for i := 0; b.Len() < 17<<20; i++ {
		fmt.Fprintf(&b, "step %d of a training that writes a lot\n", i)
	}
	log := b.String()
	for transport, read := range transports {
		t.Run(transport, func(t *testing.T) {
			w := newWorld(t)
			w.job(running, rayv1.JobStatusRunning)
			w.record(t, "train-1", raysim.Running, log)
			if got, _, err := read(t, w, query{}); err != nil || got != log {
				t.Errorf("%d bytes, %v; want %d", len(got), err, len(log))
			}
			go func() {
				time.Sleep(300 * time.Millisecond)
				w.ray.AppendLog("train-1", "the end\n")
				w.ray.Update("train-1", func(d *raysim.Details) { d.Status = raysim.Succeeded })
			}()
			last := log[strings.LastIndex(log[:len(log)-1], "\n")+1:] + "the end\n"
			if got, _, err := read(t, w, query{Follow: true, TailLines: new(int32(1))}); err != nil || !strings.HasSuffix(last, got) {
				t.Errorf("the tail of %d bytes is not %q, %v", len(got), last, err)
			}
		})
	}
}

// A job that is followed before Ray knows it is waited for.
func TestFollowBeforeTheSubmission(t *testing.T) {
	w := newWorld(t)
	w.job(running, rayv1.JobStatusNew)
	_, _, err := byGRPC(t, w, query{})
	wantCode(t, "without following", err, codes.FailedPrecondition, "has not started")
	go func() {
		time.Sleep(200 * time.Millisecond)
		w.record(t, "train-1", raysim.Succeeded, "hello\n")
	}()
	if got, _, err := byGRPC(t, w, query{Follow: true}); err != nil || got != "hello\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// The cluster of a job may be deleted as soon as the operator knows the end: the end of the log is no error then.
func TestClusterGoesAtTheEnd(t *testing.T) {
	w := newWorld(t)
	w.job(running, rayv1.JobStatusRunning)
	w.record(t, "train-1", raysim.Succeeded, "done\n")
	w.ray.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/logs/tail") {
			w.job(complete, rayv1.JobStatusSucceeded)
			w.change(func() { delete(w.objects, "RayCluster/demo") })
		}
		return false
	})
	if got, _, err := byGRPC(t, w, query{Follow: true}); err != nil || got != "done\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLogRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		state rayv1.JobDeploymentStatus
		ray   rayv1.JobStatus
		do    func(*world)
		q     query
		code  codes.Code
		text  string
	}{
		"not begun":         {code: codes.FailedPrecondition, text: "has not started"},
		"initializing":      {state: rayv1.JobDeploymentStatusInitializing, q: query{Follow: true}, code: codes.FailedPrecondition, text: "Initializing"},
		"failed before":     {state: rayv1.JobDeploymentStatusFailed, code: codes.FailedPrecondition, text: "before its job ran"},
		"record lost":       {state: running, ray: rayv1.JobStatusRunning, q: query{Follow: true}, code: codes.FailedPrecondition, text: "no record"},
		"cluster gone":      {state: complete, ray: rayv1.JobStatusSucceeded, do: func(w *world) { delete(w.objects, "RayCluster/demo") }, code: codes.FailedPrecondition, text: "is gone"},
		"dashboard away":    {state: running, ray: rayv1.JobStatusRunning, do: func(w *world) { w.down = true }, code: codes.Unavailable, text: "does not answer"},
		"no right":          {state: running, ray: rayv1.JobStatusRunning, do: func(w *world) { w.denied["get services/proxy"] = true }, code: codes.PermissionDenied, text: "demo-head-svc"},
		"no such job":       {do: func(w *world) { delete(w.objects, "RayJob/train") }, code: codes.NotFound},
		"unknown source":    {state: running, q: query{Source: "head"}, code: codes.InvalidArgument, text: "submitter"},
		"negative tail":     {state: running, q: query{TailLines: new(int32(-1))}, code: codes.InvalidArgument},
		"negative offset":   {state: running, q: query{Offset: -1}, code: codes.InvalidArgument},
		"tail and offset":   {state: running, q: query{TailLines: new(int32(1)), Offset: 1}, code: codes.InvalidArgument},
		"no submitter":      {state: running, q: query{Source: "submitter"}, code: codes.FailedPrecondition, text: "has not started"},
		"submitter is gone": {state: complete, q: query{Source: "submitter"}, code: codes.FailedPrecondition, text: "is gone"},
		"HTTPMode": {
			state: running, q: query{Source: "submitter"}, code: codes.FailedPrecondition, text: "HTTPMode",
			do: func(w *world) { w.objects["RayJob/train"].(*rayv1.RayJob).Spec.SubmissionMode = rayv1.HTTPMode },
		},
		"token missing": {
			state: running, ray: rayv1.JobStatusRunning, code: codes.FailedPrecondition, text: "Secret demo",
			do: func(w *world) { withToken(w, nil) },
		},
		"token forbidden": {
			state: running, ray: rayv1.JobStatusRunning, code: codes.PermissionDenied, text: "Secret own, which you may not read",
			do: func(w *world) { withToken(w, new("own")); w.secrets["own"] = "forbidden" },
		},
		"token of another cluster": {
			state: running, ray: rayv1.JobStatusRunning, code: codes.FailedPrecondition, text: "does not accept the token",
			do: func(w *world) { withToken(w, nil); w.secrets["demo"] = "stale-secret"; w.ray.SetToken("right") },
		},
		"hostile head Service": {
			state: running, ray: rayv1.JobStatusRunning, code: codes.FailedPrecondition, text: "not ready",
			do: func(w *world) {
				w.objects["RayCluster/demo"].(*rayv1.RayCluster).Status.Head.ServiceName = "evil.example.org/x"
			},
		},
	} {
		for transport, read := range transports {
			t.Run(name+"/"+transport, func(t *testing.T) {
				w := newWorld(t)
				w.job(tc.state, tc.ray)
				if tc.do != nil {
					w.change(func() { tc.do(w) })
				}
				got, _, err := read(t, w, tc.q)
				wantCode(t, "logs", err, tc.code, tc.text)
				if got != "" || strings.Contains(fmt.Sprint(err), "stale-secret") {
					t.Errorf("answer %q, %v", got, err)
				}
			})
		}
	}
}

// withToken makes the cluster one with a token, in a Secret of the user's or of the operator's making.
func withToken(w *world, name *string) {
	w.objects["RayCluster/demo"].(*rayv1.RayCluster).Spec.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken, SecretName: name}
}

func TestTokenOfTheCluster(t *testing.T) {
	w := newWorld(t)
	w.job(running, rayv1.JobStatusRunning)
	w.record(t, "train-1", raysim.Running, "secret work\n")
	w.ray.SetToken("t0k3n")
	w.change(func() { withToken(w, nil); w.secrets["demo"] = "t0k3n\n" })
	if got, _, err := byREST(t, w, query{}); err != nil || got != "secret work\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// followed returns when a log is followed, and what it has so far has come.
func (w *world) followed() {
	for w.ray.Tails() == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
}

// By REST a log that breaks off has no last chunk, and no line that is none of the log.
func TestBrokenLogByREST(t *testing.T) {
	w := newWorld(t)
	w.job(running, rayv1.JobStatusRunning)
	w.record(t, "train-1", raysim.Running, "one\n")
	go func() {
		w.followed()
		w.change(func() { delete(w.objects, "RayCluster/demo") })
		w.ray.CutTails()
	}()
	got, _, err := byREST(t, w, query{Follow: true})
	if got != "one\n" || err == nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A right that is taken away ends a log that is followed.
func TestFollowEndsWithTheRight(t *testing.T) {
	w := newWorld(t)
	w.job(running, rayv1.JobStatusRunning)
	w.record(t, "train-1", raysim.Running, "one\n")
	go func() {
		w.followed()
		w.change(func() { w.denied["get services/proxy"] = true })
		w.ray.AppendLog("train-1", "two\n")
	}()
	got, _, err := byGRPC(t, w, query{Follow: true})
	wantCode(t, "log", err, codes.PermissionDenied)
	if got != "one\n" {
		t.Errorf("the log is %q", got)
	}
}

func TestSubmitterLog(t *testing.T) {
	w := newWorld(t)
	w.job(running, rayv1.JobStatusRunning)
	pod := func(name string, age int) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(int64(1000-age), 0)}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "mine"}}},
		}
	}
	w.pods = []corev1.Pod{pod("train-old", 10), pod("train-new", 1)}
	w.podLog = func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, "%s %s %s\n", r.URL.Path[strings.Index(r.URL.Path, "pods/"):], r.URL.Query().Get("container"), r.URL.Query().Get("tailLines"))
		rw.(http.Flusher).Flush()
		if r.URL.Query().Get("follow") == "true" {
			time.Sleep(100 * time.Millisecond)
			_, _ = io.WriteString(rw, "\xff no text\n")
		}
	}
	for transport, read := range transports {
		got, _, err := read(t, w, query{Source: "submitter", Follow: true, TailLines: new(int32(3))})
		if want := "pods/train-new/log mine 3\n\xff no text\n"; err != nil || got != want {
			t.Errorf("%s: %q, %v", transport, got, err)
		}
	}
	w.job(running, rayv1.JobStatusRunning, func(j *rayv1.RayJob) { j.Spec.SubmissionMode = rayv1.SidecarMode })
	if got, _, err := byGRPC(t, w, query{Source: "submitter", Offset: 5}); err != nil || got != "train-new/log ray-job-submitter \n" {
		t.Errorf("%q, %v", got, err)
	}
	w.podLog = func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(400)
		_, _ = io.WriteString(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"container is waiting to start: ContainerCreating","reason":"BadRequest","code":400}`)
	}
	_, _, err := byREST(t, w, query{Source: "submitter"})
	wantCode(t, "a container that waits", err, codes.FailedPrecondition, "ContainerCreating")
}

func TestStopJob(t *testing.T) {
	for name, tc := range map[string]struct {
		state  rayv1.JobDeploymentStatus
		status raysim.Status
		deny   string
		code   codes.Code
		text   string
	}{
		"running":      {state: running, status: raysim.Running},
		"has ended":    {state: running, status: raysim.Succeeded, code: codes.FailedPrecondition, text: "has ended"},
		"complete":     {state: complete, status: raysim.Succeeded, code: codes.FailedPrecondition, text: "has ended"},
		"waits":        {state: rayv1.JobDeploymentStatusInitializing, code: codes.FailedPrecondition, text: "suspend or delete"},
		"record lost":  {state: running, code: codes.FailedPrecondition, text: "no record"},
		"may only get": {state: running, status: raysim.Running, deny: "create services/proxy", code: codes.PermissionDenied},
		"may not get":  {state: running, status: raysim.Running, deny: "get rayjobs", code: codes.PermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.job(tc.state, rayv1.JobStatusRunning)
			w.denied[tc.deny] = true
			switch tc.status {
			case "":
			case raysim.Running: // a real one, which can be stopped
				if code, _, body, _ := w.send(t, "POST", "clusters/demo/submissions", `{"entrypoint":"sleep 60","submissionId":"train-1"}`); code != 201 && tc.deny == "" {
					t.Fatalf("submitting: %d %s", code, body)
				}
			default:
				w.record(t, "train-1", tc.status, "")
			}
			if tc.code == codes.OK {
				if code, _, body, _ := w.send(t, "POST", "jobs/train:stop", ""); code != 200 || !strings.Contains(body, `"name":"train"`) {
					t.Fatalf("stop: %d %s", code, body)
				}
			} else {
				_, err := w.jobs.StopJob(t.Context(), &raygatev2.StopJobRequest{Namespace: "default", Name: "train"})
				wantCode(t, "stop", err, tc.code, tc.text)
				return
			}
			for deadline := time.Now().Add(time.Minute); w.ray.Jobs()[0].Status != raysim.Stopped; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("the job is %s", w.ray.Jobs()[0].Status)
				}
			}
		})
	}
}

func TestTriggerCronJob(t *testing.T) {
	w := newWorld(t)
	cron := &rayv1.RayCronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nightly", UID: "c", Labels: map[string]string{"team": "a"}}}
	cron.Spec.Schedule, cron.Spec.Suspend = "0 0 * * *", new(true)
	cron.Spec.JobTemplate.Entrypoint, cron.Spec.JobTemplate.ClusterSelector = "python x.py", map[string]string{rayv1.LabelCluster: "demo"}
	w.put("RayCronJob", cron)
	req := &raygatev2.TriggerCronJobRequest{Namespace: "default", Name: "nightly", ValidateOnly: true}
	if _, err := w.cronJobs.TriggerCronJob(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	code, header, body, _ := w.send(t, "POST", "cronjobs/nightly:trigger", "")
	if code != 200 || header.Get("Location") != "" {
		t.Errorf("answer %d %s", code, body)
	}
	var made map[string]any
	for key, o := range w.objects {
		if tree, ok := o.(map[string]any); ok && strings.HasPrefix(key, "RayJob/nightly-") {
			made = tree
		}
	}
	text := fmt.Sprint(made)
	for _, want := range []string{"entrypoint:python x.py", "ray.io/cronjob-name:nightly", "ray.io/cronjob-scheduled-timestamp:20", "kind:RayCronJob", "controller:true", "uid:c", "ray.io/cluster:demo"} {
		if !strings.Contains(text, want) {
			t.Errorf("the RayJob has no %s: %s", want, text)
		}
	}
	if strings.Contains(text, "team") {
		t.Errorf("labels of the RayCronJob are on the RayJob: %s", text)
	}
	req.ValidateOnly = false
	if _, err := w.cronJobs.TriggerCronJob(t.Context(), req); err != nil { // unless a new minute has begun
		wantCode(t, "a second time", err, codes.AlreadyExists, "this minute")
	}
	cron.Spec.JobTemplate = rayv1.RayJobSpec{}
	_, err := w.cronJobs.TriggerCronJob(t.Context(), req)
	wantCode(t, "an invalid template", err, codes.InvalidArgument)
	cron.DeletionTimestamp = new(metav1.Now())
	_, err = w.cronJobs.TriggerCronJob(t.Context(), req)
	wantCode(t, "one that is being deleted", err, codes.FailedPrecondition)
}
