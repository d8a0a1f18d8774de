package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestRayOnSimulatedNodes uses a control plane as people and the operator do: Services and Pods through the API server, and kubectl.
func TestRayOnSimulatedNodes(t *testing.T) {
	c := startCluster(t, t.TempDir())
	c.head(t, "demo", nil)
	for name, f := range map[string]func(*testing.T, *cluster){
		"controllers of Kubernetes":         testControllers,
		"job API through the Service proxy": testServiceProxy,
		"log tail through the API server":   testTail,
		"submitter":                         testSubmitter,
		"submitter of a failing job":        testFailingSubmitter,
		"sidecar submitter":                 testSidecar,
		"restarts and logs":                 testRestarts,
		"logs that are followed":            testFollow,
		"exec":                              testExec,
		"port-forward":                      testPortForward,
		"token":                             testToken,
		"missing Secret":                    testMissingSecret,
		"statuses that others write":        testStatuses,
		"deletion ends processes":           testDeletion,
		"dashboard that hangs first":        testHang,
	} {
		t.Run(name, func(t *testing.T) { f(t, c) })
	}
	t.Run("crash", func(t *testing.T) { testCrash(t, c) }) // ends the cluster
}

// run submits an entrypoint through the Service proxy and waits for a status.
func (c *cluster) run(t *testing.T, head, id, entrypoint, status string) {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"submission_id": id, "entrypoint": entrypoint})
	if text, err := c.proxy(t, "POST", head, "/api/jobs/", string(body)); err != nil {
		t.Fatalf("submitting: %v %s", err, text)
	}
	within(t, "job "+id+" becomes "+status, func() bool {
		text, err := c.proxy(t, "GET", head, "/api/jobs/"+id, "")
		return err == nil && strings.Contains(text, `"status":"`+status+`"`)
	})
}

func (c *cluster) jobLog(t *testing.T, head, id string) string {
	t.Helper()
	text, err := c.proxy(t, "GET", head, "/api/jobs/"+id+"/logs", "")
	var out struct{ Logs string }
	if err != nil || json.Unmarshal([]byte(text), &out) != nil {
		t.Fatalf("log of %s: %v %s", id, err, text)
	}
	return out.Logs
}

func testServiceProxy(t *testing.T, c *cluster) {
	c.run(t, "demo", "direct", `echo "pid $$"; echo two; pwd`, "SUCCEEDED")
	log := c.jobLog(t, "demo", "direct")
	if ok, _ := regexp.MatchString(`^pid \d+\ntwo\n`+regexp.QuoteMeta(c.dir+"/pods/")+`\S+/work\n$`, log); !ok {
		t.Errorf("the log is not the output of a process in its own folder: %q", log)
	}
	if text, err := c.client.CoreV1().RESTClient().Get().Namespace("default").Resource("pods").Name("demo:8265").SubResource("proxy").Suffix("api/version").DoRaw(t.Context()); err != nil || !strings.Contains(string(text), "ray_version") {
		t.Errorf("through the Pod proxy: %v %s", err, text)
	}
	if _, err := c.client.CoreV1().RESTClient().Get().Namespace("default").Resource("pods").Name("demo:6379").SubResource("proxy").Suffix("x").DoRaw(t.Context()); err == nil {
		t.Error("something answers on a port where nothing is simulated")
	}
	info, err := os.Stat(c.dir + "/egress.sock")
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may use the egress: %v", info.Mode())
	}
}

func testTail(t *testing.T, c *cluster) {
	c.run(t, "demo", "tail", "for i in 1 2 3; do echo line $i; sleep 0.1; done", "RUNNING")
	h, err := rest.HTTPClientFor(c.cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, c.cfg.Host+"/api/v1/namespaces/default/services/demo:dashboard/proxy/api/jobs/tail/logs/tail", &websocket.DialOptions{HTTPClient: h})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for {
		_, data, err := ws.Read(ctx)
		if err != nil {
			if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
				t.Errorf("want a normal closure, got %v", err)
			}
			break
		}
		got.Write(data)
	}
	if got.String() != "line 1\nline 2\nline 3\n" {
		t.Errorf("got %q", got.String())
	}
}

// script is that of a submitter: wait for the dashboard, submit unless that is done, follow the log.
func script(address, id, entrypoint string) string {
	return fmt.Sprintf(`until python -c "import urllib.request; import sys; sys.exit(0 if b'success' in urllib.request.urlopen('%[1]s/api/gcs_healthz', timeout=10).read() else 1)" >/dev/null 2>&1 ; do echo waiting ; sleep 0.2 ; done ; `+
		`if ! ray job status --address %[1]s %[2]s >/dev/null 2>&1 ; then ray job submit --address %[1]s --no-wait --runtime-env-json "{\"env_vars\":{\"NAME\":\"it's me\"}}" --metadata-json "{\"a\":\"b\"}" --submission-id %[2]s --entrypoint-num-cpus 1.000000 -- %[3]s ; fi ; `+
		`ray job logs --address %[1]s --follow %[2]s`, address, id, entrypoint)
}

func testSubmitter(t *testing.T, c *cluster) {
	c.create(t, submitter("sub", script("http://demo.default.svc.cluster.local:8265", "sub-1", `sh -c 'echo "hello $NAME"; exit 3'`), corev1.RestartPolicyNever))
	p := c.phase(t, "sub", corev1.PodSucceeded) // the job fails, following its log does not
	done := p.Status.ContainerStatuses[0].State.Terminated
	if done == nil || done.ExitCode != 0 || done.Reason != "Completed" {
		t.Errorf("container state %+v", p.Status.ContainerStatuses[0].State)
	}
	out, _ := c.kubectl(t, "", "logs", "sub")
	if !strings.Contains(out, "\nhello it's me\n") {
		t.Errorf("log %q", out)
	}
	text, _ := c.proxy(t, "GET", "demo", "/api/jobs/sub-1", "")
	if !strings.Contains(text, `"driver_exit_code":3`) || !strings.Contains(text, `"metadata":{"a":"b"}`) {
		t.Errorf("record %s", text)
	}
	if out, _ := c.kubectl(t, "", "logs", "sub", "--tail=1", "--timestamps"); !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\S+ [^\n]+\n$`).MatchString(out) {
		t.Errorf("last line with its time: %q", out)
	}
}

func testFailingSubmitter(t *testing.T, c *cluster) {
	c.create(t, submitter("fails", `ray job submit --address http://demo:8265 -- sh -c 'echo to be or; exit 9'`, corev1.RestartPolicyNever))
	p := c.phase(t, "fails", corev1.PodFailed)
	if done := p.Status.ContainerStatuses[0].State.Terminated; done == nil || done.ExitCode != 1 || done.Reason != "Error" {
		t.Errorf("container state %+v", p.Status.ContainerStatuses[0].State)
	}
	if out, _ := c.kubectl(t, "", "logs", "fails"); !strings.Contains(out, "to be or\n") {
		t.Errorf("log %q", out)
	}
}

func testSidecar(t *testing.T, c *cluster) {
	c.head(t, "sidecar", func(p *corev1.Pod) {
		side := submitter("x", `until python -c "import urllib.request; exit(0 if b'success' in urllib.request.urlopen('http://localhost:8265/api/gcs_healthz', timeout=10).read() else 1)" ; do sleep 0.2 ; done ; `+
			`ray job submit --address http://127.0.0.1:8265 --submission-id own -- echo from the sidecar`, "")
		p.Spec.Containers = append(p.Spec.Containers, side.Spec.Containers[0])
	})
	within(t, "the submitter ends", func() bool {
		s := c.pod(t, "sidecar").Status
		return s.Phase == corev1.PodRunning && len(s.ContainerStatuses) == 2 && s.ContainerStatuses[1].State.Terminated != nil && s.ContainerStatuses[0].State.Running != nil
	})
	if code := c.pod(t, "sidecar").Status.ContainerStatuses[1].State.Terminated.ExitCode; code != 0 {
		t.Errorf("exit code %d", code)
	}
	if out, _ := c.kubectl(t, "", "logs", "sidecar", "-c", "ray-job-submitter"); !strings.Contains(out, "from the sidecar\n") {
		t.Errorf("log %q", out)
	}
	if got := c.jobLog(t, "sidecar", "own"); got != "from the sidecar\n" {
		t.Errorf("the job ran elsewhere: %q", got)
	}
}

func testRestarts(t *testing.T, c *cluster) {
	// It fails the first time, and finds its working directory again.
	c.create(t, submitter("again", `echo run; if [ ! -f seen ]; then touch seen; printf 'no end of line'; ray job status --address http://demo:8265 none; fi; echo done`, corev1.RestartPolicyOnFailure))
	p := c.phase(t, "again", corev1.PodSucceeded)
	s := p.Status.ContainerStatuses[0]
	if s.RestartCount != 1 || s.LastTerminationState.Terminated == nil || s.LastTerminationState.Terminated.ExitCode != 1 {
		t.Errorf("container status %+v", s)
	}
	if out, _ := c.kubectl(t, "", "logs", "again"); out != "run\ndone\n" {
		t.Errorf("log %q", out)
	}
	// The error is on another stream, so that its place among the lines is not certain.
	if out, _ := c.kubectl(t, "", "logs", "again", "--previous"); !strings.HasPrefix(out, "run\n") || !strings.Contains(out, "no end of line") || strings.Contains(out, "done") {
		t.Errorf("previous log %q", out)
	}
	if out, code := c.kubectl(t, "", "logs", "demo", "--previous"); code == 0 && out != "" && !strings.Contains(out, "simulated") {
		t.Errorf("previous log of a container that never ran: %q", out)
	}
}

// testFollow: lines arrive while the container runs.
func testFollow(t *testing.T, c *cluster) {
	c.create(t, submitter("follow", `: ray job list; echo first; while [ ! -f proceed ]; do sleep 0.05; done; echo second`, corev1.RestartPolicyNever))
	p := c.phase(t, "follow", corev1.PodRunning)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := c.command(ctx, "logs", "-f", "follow")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "first" {
		t.Fatalf("first line %q", lines.Text())
	}
	if err := os.WriteFile(fmt.Sprintf("%s/pods/%s/ray-job-submitter/work/proceed", c.dir, p.UID), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != "second" || lines.Scan() {
		t.Errorf("then %q", lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("kubectl logs -f: %v", err)
	}
}

func testExec(t *testing.T, c *cluster) {
	c.run(t, "demo", "seen-by-exec", "true", "SUCCEEDED")
	c.create(t, submitter("exec", `: ray job list; sleep 300`, corev1.RestartPolicyNever))
	c.phase(t, "exec", corev1.PodRunning)
	if out, code := c.kubectl(t, "from stdin", "exec", "-i", "exec", "--", "sh", "-c", "cat; echo; echo to stderr >&2; exit 42"); code != 42 || !strings.Contains(out, "from stdin") || !strings.Contains(out, "to stderr\n") {
		t.Errorf("exit code %d, output %q", code, out)
	}
	if out, code := c.kubectl(t, "", "exec", "exec", "--", "ray", "job", "list", "--address", "http://demo:8265"); code != 0 || !strings.Contains(out, "seen-by-exec") {
		t.Errorf("ray in a submitter: exit code %d, output %q", code, out)
	}
	if out, code := c.kubectl(t, "", "exec", "demo", "--", "ray", "job", "list"); code != 0 || !strings.Contains(out, "seen-by-exec") {
		t.Errorf("ray in the head: exit code %d, output %q", code, out)
	}
	// A terminal that kubectl asks for without having one itself. Its size comes a moment after it.
	req := c.client.CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Name("exec").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"sh", "-c", "test -t 0 && test -t 1 && for i in $(seq 600); do stty size | grep -v '^0 0' && break; sleep 0.1; done"}, Stdout: true, Stdin: true, TTY: true}, paramCodec)
	if out := c.terminal(t, req.URL()); !strings.Contains(out, "33 99") {
		t.Errorf("no terminal of 33 by 99: %q", out)
	}
	c.create(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "worker"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "ray-worker", Image: "x"}}}})
	c.phase(t, "worker", corev1.PodRunning)
	if out, code := c.kubectl(t, "", "exec", "worker", "--", "id"); code == 0 || !strings.Contains(out, "simulated") {
		t.Errorf("exec where nothing runs: exit code %d, output %q", code, out)
	}
	if out, _ := c.kubectl(t, "", "logs", "worker"); !strings.Contains(out, "simulated") {
		t.Errorf("log where nothing runs: %q", out)
	}
	if out, code := c.kubectl(t, "", "exec", "exec", "--", "no-such-program"); code == 0 || code == 42 {
		t.Errorf("missing program: exit code %d, output %q", code, out)
	}
}

func testPortForward(t *testing.T, c *cluster) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := c.command(ctx, "port-forward", "--address=127.0.0.1", "service/demo", ":8265")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	port := regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindStringSubmatch(line)
	if port == nil {
		t.Fatalf("no port in %q", line)
	}
	for range 3 {
		resp, err := http.Get("http://127.0.0.1:" + port[1] + "/api/version")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if !strings.Contains(string(body), "ray_version") {
			t.Errorf("answer %s", body)
		}
	}
}

func testToken(t *testing.T, c *cluster) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token"}, StringData: map[string]string{"auth_token": "xyz"}}
	if _, err := c.client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	env := []corev1.EnvVar{{Name: "RAY_AUTH_MODE", Value: "token"}, {Name: "RAY_AUTH_TOKEN", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "token"}, Key: "auth_token"},
	}}}
	c.head(t, "locked", func(p *corev1.Pod) { p.Spec.Containers[0].Env = env })
	if text, err := c.proxy(t, "GET", "locked", "/api/jobs/", ""); err == nil {
		t.Errorf("without a token: %s", text)
	}
	p := submitter("with-token", `ray job submit --address http://locked:8265 -- sh -c 'echo inside'`, corev1.RestartPolicyNever)
	p.Spec.Containers[0].Env = env
	c.create(t, p)
	c.phase(t, "with-token", corev1.PodSucceeded)
	c.create(t, submitter("without-token", `ray job submit --address http://locked:8265 -- echo inside`, corev1.RestartPolicyNever))
	c.phase(t, "without-token", corev1.PodFailed)
	if out, _ := c.kubectl(t, "", "logs", "without-token"); !strings.Contains(out, "401") {
		t.Errorf("log %q", out)
	}
}

func testMissingSecret(t *testing.T, c *cluster) {
	p := submitter("waits", `echo "$WORD"; : ray job list`, corev1.RestartPolicyNever)
	p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "WORD", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "later"}, Key: "word"},
	}}}
	c.create(t, p)
	within(t, "the container waits for its Secret", func() bool {
		s := c.pod(t, "waits").Status
		return s.Phase == corev1.PodPending && len(s.ContainerStatuses) == 1 && s.ContainerStatuses[0].State.Waiting != nil && s.ContainerStatuses[0].State.Waiting.Reason == "CreateContainerConfigError"
	})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "later"}, StringData: map[string]string{"word": "magic"}}
	if _, err := c.client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.phase(t, "waits", corev1.PodSucceeded)
	if out, _ := c.kubectl(t, "", "logs", "waits"); out != "magic\n" {
		t.Errorf("log %q", out)
	}
}

// testStatuses ends Pods while the node starts them, as tests do. The node does not write Running over that.
func testStatuses(t *testing.T, c *cluster) {
	pods := c.client.CoreV1().Pods("default")
	pod := func(i int) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "ended-" + strconv.Itoa(i)},
			Spec:       corev1.PodSpec{NodeName: "raygate-node-0", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
	}
	const n = 30
	for i := range n {
		c.create(t, pod(i))
		within(t, "the Pod ends", func() bool {
			p := c.pod(t, pod(i).Name)
			p.Status.Phase = corev1.PodFailed
			_, err := pods.UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
			return err == nil
		})
	}
	c.create(t, pod(n))
	c.phase(t, pod(n).Name, corev1.PodRunning)
	for i := range n {
		if p := c.pod(t, pod(i).Name); p.Status.Phase != corev1.PodFailed {
			t.Errorf("Pod %s is %s again", p.Name, p.Status.Phase)
		}
	}
}

// pidIn waits for a line "pid N" in a log.
func pidIn(t *testing.T, log func() string) int {
	t.Helper()
	pid := 0
	within(t, "a process says its id", func() bool {
		m := regexp.MustCompile(`pid (\d+)\n`).FindStringSubmatch(log())
		if m != nil {
			pid, _ = strconv.Atoi(m[1])
		}
		return m != nil
	})
	return pid
}

// alive is false for a process that has ended and that nobody has waited for.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return runtime.GOOS != "linux" && syscall.Kill(pid, 0) == nil
	}
	return !strings.Contains(string(stat), ") Z ")
}

func testDeletion(t *testing.T, c *cluster) {
	c.head(t, "doomed", nil)
	c.run(t, "doomed", "long", `(trap '' TERM; sh -c 'echo "pid $$"; exec sleep 300') & wait`, "RUNNING")
	job := pidIn(t, func() string { return c.jobLog(t, "doomed", "long") })
	c.create(t, submitter("doomed-submitter", `echo "pid $BASHPID"; trap 'echo asked to end; exit 5' TERM; : ray job list; while :; do sleep 0.05; done`, corev1.RestartPolicyNever))
	c.phase(t, "doomed-submitter", corev1.PodRunning)
	sub := pidIn(t, func() string { out, _ := c.kubectl(t, "", "logs", "doomed-submitter"); return out })
	uid := c.pod(t, "doomed-submitter").UID
	for _, name := range []string{"doomed", "doomed-submitter"} {
		if _, code := c.kubectl(t, "", "delete", "pod", name, "--wait=true", "--timeout="+patience.String()); code != 0 {
			t.Errorf("deleting %s: exit code %d", name, code)
		}
	}
	// The object goes after the processes.
	if alive(job) || alive(sub) {
		t.Errorf("alive after the Pods are gone: entrypoint %t, submitter %t", alive(job), alive(sub))
	}
	within(t, "the folder of the Pod is removed", func() bool {
		_, err := os.Stat(fmt.Sprintf("%s/pods/%s", c.dir, uid))
		return os.IsNotExist(err)
	})
}

func testHang(t *testing.T, c *cluster) {
	c.head(t, "slow", func(p *corev1.Pod) { p.Annotations = map[string]string{"raygate.io/sim-dashboard-hang": "2s"} })
	started := c.pod(t, "slow").Status.StartTime.Time
	if waited := time.Since(started); waited < 2*time.Second { // head has waited for the first answer
		t.Errorf("an answer after %s", waited)
	}
}

// testCrash: what a killed supervisor has left is ended by the next one of the same folder, and the Pods learn of it.
func testCrash(t *testing.T, c *cluster) {
	c.head(t, "crashed", nil)
	c.run(t, "crashed", "long", `setsid sh -c 'echo "pid $$"; exec sleep 300' & wait`, "RUNNING")
	job := pidIn(t, func() string { return c.jobLog(t, "crashed", "long") })
	c.create(t, submitter("crash-ends", `: ray job list; echo before the crash; sleep 300`, corev1.RestartPolicyNever))
	c.create(t, submitter("crash-restarts", `: ray job list; if [ ! -f seen ]; then touch seen; echo seen; sleep 300; fi; echo after the crash`, corev1.RestartPolicyOnFailure))
	c.phase(t, "crash-ends", corev1.PodRunning)
	c.phase(t, "crash-restarts", corev1.PodRunning)
	for name, line := range map[string]string{"crash-ends": "before the crash\n", "crash-restarts": "seen\n"} {
		within(t, name+" writes", func() bool { out, _ := c.kubectl(t, "", "logs", name); return out == line })
	}
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.ended
	if !alive(job) {
		t.Fatal("the process of a job ends with the supervisor: nothing is left for the next one to end")
	}
	c = startCluster(t, c.dir)
	if alive(job) {
		t.Error("the process of a job outlives the restart")
	}
	if done := c.phase(t, "crash-ends", corev1.PodFailed).Status.ContainerStatuses[0].State.Terminated; done == nil || done.ExitCode != 137 {
		t.Errorf("container state %+v", done)
	}
	if out, _ := c.kubectl(t, "", "logs", "crash-ends"); out != "before the crash\n" {
		t.Errorf("log %q", out)
	}
	c.phase(t, "crash-restarts", corev1.PodSucceeded)
	if out, _ := c.kubectl(t, "", "logs", "crash-restarts"); out != "after the crash\n" {
		t.Errorf("log %q", out)
	}
	// As after the restart of a head without fault tolerance.
	within(t, "the head is back without its jobs", func() bool {
		text, err := c.proxy(t, "GET", "crashed", "/api/jobs/", "")
		return err == nil && text == "[]\n"
	})
}
