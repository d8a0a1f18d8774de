package podrun

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/cri-client/pkg/logs"

	"github.com/raygate/raygate/localcluster/internal/localproc"
	"github.com/raygate/raygate/localcluster/internal/podnet"
)

func TestIsReal(t *testing.T) {
	tests := map[string]struct {
		command, args []string
		want          bool
	}{
		"script of a submitter": {[]string{"/bin/bash", "-ce", "--"}, []string{"until x ; do y ; done ; ray job submit --address a -- b"}, true},
		"words":                 {nil, []string{"ray", "job", "submit", "--", "x"}, true},
		"path":                  {[]string{"/home/ray/anaconda3/bin/ray", "job", "logs", "x"}, nil, true},
		"head":                  {[]string{"/bin/bash", "-lc", "--"}, []string{"ulimit -n 65536; ray start --head --block"}, false},
		"other program":         {nil, []string{"my-ray job submit"}, false},
		"other command":         {nil, []string{"ray job submitted"}, false},
		"nothing":               {nil, nil, false},
	}
	for name, tc := range tests {
		if got := IsReal(corev1.Container{Command: tc.command, Args: tc.args}); got != tc.want {
			t.Errorf("%s: want %t, got %t", name, tc.want, got)
		}
	}
}

// TestCRILog: what the kubelet's reader makes of the file is what was written.
func TestCRILog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c", "0.log")
	l, err := newCRILog(path)
	if err != nil {
		t.Fatal(err)
	}
	out, errs := l.stream("stdout"), l.stream("stderr")
	long := strings.Repeat("y", 2*maxLine+5)
	for _, part := range []string{"first\nsec", "ond\n", long + "\n", "\n", "no end"} {
		if _, err := io.WriteString(out, part); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(errs, "wrong\n"); err != nil {
		t.Fatal(err)
	}
	l.close()
	l.close()
	if n, err := io.WriteString(out, "late\n"); n != 5 || err != nil {
		t.Errorf("a process may still write: %d, %v", n, err)
	}
	var stdout, stderr bytes.Buffer
	if err := logs.ReadLogs(t.Context(), path, "id", options(&corev1.PodLogOptions{}, time.Now()), nil, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	if want := "first\nsecond\n" + long + "\n\nno end"; stdout.String() != want {
		t.Errorf("standard output has %d bytes, want %d", stdout.Len(), len(want))
	}
	if stderr.String() != "wrong\n" {
		t.Errorf("standard error is %q", stderr.String())
	}
}

func TestCRILogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	l, err := newCRILog(path)
	if err != nil {
		t.Fatal(err)
	}
	out := l.stream("stdout")
	chunk := []byte(strings.Repeat("x", 1023) + "\n")
	for range maxLog/1024 + 1000 {
		_, _ = out.Write(chunk)
	}
	l.close()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxLog+4096 {
		t.Errorf("the log has %d bytes", info.Size())
	}
	data, _ := os.ReadFile(path)
	if !bytes.Contains(data[len(data)-200:], []byte("not kept")) {
		t.Error("the log does not say that it is cut")
	}
}

// testRuntime has a cluster without an API server.
func testRuntime(t *testing.T, p *corev1.Pod, objects ...*corev1.Secret) *Runtime {
	t.Helper()
	client := fake.NewClientset(p)
	for _, o := range objects {
		if err := client.Tracker().Add(o); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	procs, _ := localproc.New(dir, 4)
	proxy, err := podnet.NewProxy(podnet.New(nil))
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{
		Client: client, Dir: filepath.Join(dir, "pods"), Programs: "/stand-ins", Environ: []string{"PATH=/usr/bin:/bin", "USER=me", "SECRET=of the user"},
		Containers: procs, Entrypoints: procs, Proxy: proxy, Pods: func(types.NamespacedName) []*corev1.Pod { return []*corev1.Pod{p} }, Changed: func(types.NamespacedName) {}, Logf: t.Logf, BackOff: 10 * time.Millisecond,
	})
	t.Cleanup(func() {
		r.Close()
		proxy.Close()
	})
	return r
}

func submitter(script string, policy corev1.RestartPolicy, change func(*corev1.Container)) *corev1.Pod {
	c := corev1.Container{Name: "c", Command: []string{"/bin/sh", "-ec"}, Args: []string{": ray job list; " + script}}
	if change != nil {
		change(&c)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u", Labels: map[string]string{"l": "v"}},
		Spec:       corev1.PodSpec{RestartPolicy: policy, Containers: []corev1.Container{c}},
	}
}

// patience is the limit of every wait for something that happens soon on a machine without other load.
const patience = time.Minute

func until(t *testing.T, r *Runtime, p *corev1.Pod, what string, ok func(corev1.ContainerStatus) bool) corev1.ContainerStatus {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		s := r.Containers(p, "10.244.0.9")["c"]
		if ok(s) {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("timed out: %s; the container is %+v", what, s)
		}
	}
}

func log(t *testing.T, r *Runtime, p *corev1.Pod, previous bool) string {
	t.Helper()
	var out bytes.Buffer
	if err := r.Logs(t.Context(), p, &corev1.PodLogOptions{Container: "c", Previous: previous}, &out, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func ended(s corev1.ContainerStatus) bool { return s.State.Terminated != nil }

// TestEnvironment: a container gets what its spec declares and what concerns the machine, and nothing else of the user.
func TestEnvironment(t *testing.T) {
	ref := func(name, key string, optional bool) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: &optional}}
	}
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	p := submitter(`echo "$A|$B|$C|$D|$E|$F|$X|$USER|$SECRET|$(WORD)"; echo "$PATH"`, corev1.RestartPolicyNever, func(c *corev1.Container) {
		c.EnvFrom = []corev1.EnvFromSource{{Prefix: "X", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}}}
		c.Env = []corev1.EnvVar{
			{Name: "WORD", Value: "echo expanded"},
			{Name: "A", Value: "plain"}, {Name: "B", Value: "$(A) $$(A) $(NONE)"}, {Name: "C", ValueFrom: ref("s", "", false)},
			{Name: "D", ValueFrom: ref("none", "key", true)}, {Name: "E", ValueFrom: field("status.podIP")}, {Name: "F", ValueFrom: field("metadata.labels['l']")},
		}
	})
	r := testRuntime(t, p, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Data: map[string][]byte{"": []byte("secret")}})
	s := until(t, r, p, "the container ends", ended)
	if s.State.Terminated.ExitCode != 0 {
		t.Fatalf("exit code %d: %s", s.State.Terminated.ExitCode, log(t, r, p, false))
	}
	want := "plain|plain $(A) $(NONE)|secret||10.244.0.9|v|secret|me||echo expanded\n/stand-ins:/usr/bin:/bin\n"
	if diff := cmp.Diff(want, log(t, r, p, false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRestartPolicies(t *testing.T) {
	always, onFailure := corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyOnFailure
	tests := map[string]struct {
		policy   corev1.RestartPolicy
		own      *corev1.ContainerRestartPolicy
		script   string
		restarts int32
		code     int32
	}{
		"never":                       {corev1.RestartPolicyNever, nil, "exit 3", 0, 3},
		"on failure, good":            {corev1.RestartPolicyOnFailure, nil, "exit 0", 0, 0},
		"on failure, bad twice":       {corev1.RestartPolicyOnFailure, nil, "echo x >> n; [ $(wc -l < n) -gt 2 ]", 2, 0},
		"own policy before the Pod's": {corev1.RestartPolicyNever, &onFailure, "echo x >> n; [ $(wc -l < n) -gt 1 ]", 1, 0},
		"always":                      {corev1.RestartPolicyNever, &always, "echo x >> n; [ $(wc -l < n) -lt 3 ] || sleep 60", 2, -1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := submitter("echo run; "+tc.script, tc.policy, func(c *corev1.Container) { c.RestartPolicy = tc.own })
			r := testRuntime(t, p)
			s := until(t, r, p, "the restarts", func(s corev1.ContainerStatus) bool {
				return s.RestartCount == tc.restarts && (tc.code < 0 && s.State.Running != nil || ended(s) && s.State.Terminated.ExitCode == tc.code)
			})
			if tc.restarts > 0 && (s.LastTerminationState.Terminated == nil || log(t, r, p, true) != "run\n") {
				t.Errorf("the run before is lost: %+v", s)
			}
			if tc.code < 0 {
				return // it runs
			}
			// Nothing starts it once its supervision has ended.
			supervised := make(chan struct{})
			go func() {
				r.entry(p, "").work.Wait()
				close(supervised)
			}()
			select {
			case <-supervised:
			case <-time.After(patience):
				t.Fatal("the container is still supervised after its end")
			}
			if again := r.Containers(p, "")["c"]; again.RestartCount != tc.restarts {
				t.Errorf("started again: %d", again.RestartCount)
			}
		})
	}
}

// TestStopIsPoliteAtFirst: a container has its grace, and no more.
func TestStopIsPoliteAtFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		grace  time.Duration
		code   int32
	}{
		"polite":   {"trap 'echo bye; exit 4' TERM; echo ready; while :; do sleep 0.02; done", patience, 4},
		"stubborn": {"trap '' TERM; echo ready; while :; do sleep 0.02; done", 200 * time.Millisecond, 137},
	} {
		t.Run(name, func(t *testing.T) {
			p := submitter(tc.script, corev1.RestartPolicyAlways, nil)
			r := testRuntime(t, p)
			until(t, r, p, "ready", func(s corev1.ContainerStatus) bool { return s.State.Running != nil && log(t, r, p, false) == "ready\n" })
			for end := time.Now().Add(patience); !r.Stop(p, tc.grace); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("it does not end")
				}
			}
			if s := r.Containers(p, "")["c"]; !ended(s) || s.State.Terminated.ExitCode != tc.code || s.RestartCount != 0 {
				t.Errorf("container %+v", s)
			}
		})
	}
}

// TestDeletedBeforeStart: nothing is started for a Pod that goes.
func TestDeletedBeforeStart(t *testing.T) {
	p := submitter("sleep 60", corev1.RestartPolicyNever, nil)
	p.DeletionTimestamp = new(metav1.Now())
	r := testRuntime(t, p)
	if got := r.Containers(p, ""); len(got) != 0 || !r.Stop(p, 0) {
		t.Errorf("containers %v", got)
	}
}

// TestTakeOver: what the supervisor before has written decides what becomes of a container.
func TestTakeOver(t *testing.T) {
	at := metav1.NewTime(time.Now().Add(-time.Minute))
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}
	done := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0, StartedAt: at, FinishedAt: at}}
	tests := map[string]struct {
		policy   corev1.RestartPolicy
		state    corev1.ContainerState
		restarts int32
		code     int32
	}{
		"it ran and is not started again": {corev1.RestartPolicyNever, running, 1, 137},
		"it ran and is started again":     {corev1.RestartPolicyOnFailure, running, 2, 0},
		"it had ended":                    {corev1.RestartPolicyNever, done, 1, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := submitter("echo again", tc.policy, nil)
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", ContainerID: "sim://u/c/1", RestartCount: 1, State: tc.state}}
			r := testRuntime(t, p)
			until(t, r, p, "its end", func(s corev1.ContainerStatus) bool {
				return ended(s) && s.State.Terminated.ExitCode == tc.code && s.RestartCount == tc.restarts
			})
		})
	}
}
