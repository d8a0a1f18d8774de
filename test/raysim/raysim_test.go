package raysim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// head starts a simulated head that ends with the test.
func head(t *testing.T, o Options) (*Cluster, string) {
	t.Helper()
	o.Dir, o.Poll = t.TempDir(), 5*time.Millisecond
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(c)
	t.Cleanup(func() {
		c.Close()
		s.Close()
	})
	return c, s.URL
}

func call(t *testing.T, method, url, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data), resp.Header
}

func submitJob(t *testing.T, url, id, entrypoint string) {
	t.Helper()
	body, _ := json.Marshal(map[string]any{"submission_id": id, "entrypoint": entrypoint})
	code, text, _ := call(t, "POST", url+"/api/jobs/", string(body))
	if code != 200 || text != fmt.Sprintf(`{"job_id":%q,"submission_id":%q}`+"\n", id, id) {
		t.Fatalf("submitting: %d %s", code, text)
	}
}

func record(t *testing.T, url, id string) Details {
	t.Helper()
	code, text, _ := call(t, "GET", url+"/api/jobs/"+id, "")
	if code != 200 {
		t.Fatalf("getting %s: %d %s", id, code, text)
	}
	var d Details
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func await(t *testing.T, url, id string, want Status) Details {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if d := record(t, url, id); d.Status == want {
			return d
		} else if time.Now().After(end) || d.Status.Terminal() {
			t.Fatalf("%s is %s, want %s: %s", id, d.Status, want, *d.Message)
		}
	}
}

func logOf(t *testing.T, url, id string) string {
	t.Helper()
	code, text, _ := call(t, "GET", url+"/api/jobs/"+id+"/logs", "")
	var out struct{ Logs string }
	if err := json.Unmarshal([]byte(text), &out); code != 200 || err != nil {
		t.Fatalf("logs of %s: %d %s", id, code, text)
	}
	return out.Logs
}

func readTail(t *testing.T, url, id string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, url+"/api/jobs/"+id+"/logs/tail", nil)
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(16 << 20)
	var b strings.Builder
	for {
		_, data, err := ws.Read(ctx)
		if err != nil {
			return b.String(), err
		}
		b.Write(data)
	}
}

func TestEntrypoints(t *testing.T) {
	tests := map[string]struct {
		entrypoint string
		status     Status
		code       int
		log        string
		message    string
		errorType  string
	}{
		"success": {"echo one; echo two >&2", Succeeded, 0, "one\ntwo\n", "success", ""},
		"failure": {"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; done; exit 3", Failed, 3,
			"line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nline 10\nline 11\nline 12\n", "exit code 3. The last lines of its log:\nline 3\n", ErrorCommand},
		"missing program":    {"no-such-program-anywhere 2>/dev/null", Failed, 127, "", "exit code 127", ErrorCommand},
		"ended by a signal":  {"kill -9 $$", Failed, 137, "", "exit code 137", ErrorCommand},
		"bytes not in UTF-8": {`printf 'a\377b'`, Succeeded, 0, "a\uFFFDb", "success", ""},
	}
	_, url := head(t, Options{})
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			id := strings.ReplaceAll(name, " ", "-")
			submitJob(t, url, id, tc.entrypoint)
			d := await(t, url, id, tc.status)
			if d.DriverExitCode == nil || *d.DriverExitCode != tc.code {
				t.Errorf("want exit code %d, got %v", tc.code, d.DriverExitCode)
			}
			if got := logOf(t, url, id); got != tc.log {
				t.Errorf("want log %q, got %q", tc.log, got)
			}
			if got, err := readTail(t, url, id); got != tc.log || websocket.CloseStatus(err) != websocket.StatusNormalClosure {
				t.Errorf("want tail %q and a normal closure, got %q, %v", tc.log, got, err)
			}
			if !strings.Contains(*d.Message, tc.message) || strings.Contains(*d.Message, "line 2\n") {
				t.Errorf("want a message with %q, got %q", tc.message, *d.Message)
			}
			if (d.ErrorType == nil) != (tc.errorType == "") || d.ErrorType != nil && *d.ErrorType != tc.errorType {
				t.Errorf("want error type %q, got %v", tc.errorType, d.ErrorType)
			}
			if d.StartTime == nil || d.EndTime == nil || *d.EndTime < *d.StartTime || *d.StartTime < 1e12 {
				t.Errorf("times are wrong: %v, %v", d.StartTime, d.EndTime)
			}
		})
	}
}

// TestDriversHaveNoLogs and cannot be stopped.
func TestDriversHaveNoLogs(t *testing.T) {
	c, url := head(t, Options{})
	if err := c.Add(Details{Type: TypeDriver, Status: Running, JobID: new("02000000")}, ""); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/stop", "/logs", "/logs/tail"} {
		method := "GET"
		if path == "/stop" {
			method = "POST"
		}
		if code, text, _ := call(t, method, url+"/api/jobs/02000000"+path, ""); code != 400 {
			t.Errorf("%s of a driver: want 400, got %d %s", path, code, text)
		}
	}
}

func TestStop(t *testing.T) {
	c, url := head(t, Options{Run: Shell{Grace: 100 * time.Millisecond}.Run})
	submitJob(t, url, "polite", `trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.02; done`)
	submitJob(t, url, "stubborn", `trap '' TERM; echo ready; while :; do sleep 0.02; done`)
	for _, id := range []string{"polite", "stubborn"} {
		for end := time.Now().Add(time.Minute); logOf(t, url, id) != "ready\n"; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s is not ready", id)
			}
		}
		if code, text, _ := call(t, "DELETE", url+"/api/jobs/"+id, ""); code != 500 {
			t.Errorf("deleting %s while it runs: want 500, got %d %s", id, code, text)
		}
		if _, text, _ := call(t, "POST", url+"/api/jobs/"+id+"/stop", ""); text != "{\"stopped\":true}\n" {
			t.Errorf("stopping %s: %s", id, text)
		}
		d := await(t, url, id, Stopped)
		if d.EndTime == nil || d.DriverExitCode != nil {
			t.Errorf("%s: end time %v, exit code %v", id, d.EndTime, d.DriverExitCode)
		}
		if code, text, _ := call(t, "POST", url+"/api/jobs/"+id+"/stop", ""); code != 200 || text != "{\"stopped\":false}\n" {
			t.Errorf("stopping %s again: %d %s", id, code, text)
		}
		if code, text, _ := call(t, "DELETE", url+"/api/jobs/"+id, ""); code != 200 || text != "{\"deleted\":true}\n" {
			t.Errorf("deleting %s: %d %s", id, code, text)
		}
	}
	if n := c.Active(); n != 0 {
		t.Errorf("%d jobs are active", n)
	}
	if code, _, _ := call(t, "GET", url+"/api/jobs/polite", ""); code != 404 {
		t.Errorf("getting a deleted job: want 404, got %d", code)
	}
}

// TestStopBeforeStart: a stop of a PENDING job takes effect although nothing runs.
func TestStopBeforeStart(t *testing.T) {
	_, url := head(t, Options{Run: func(ctx context.Context, _ Launch) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}})
	submitJob(t, url, "j", "true")
	if d := record(t, url, "j"); d.Status != Pending || d.EndTime != nil || d.DriverNodeID != nil {
		t.Errorf("want a PENDING job, got %+v", d)
	}
	if got := logOf(t, url, "j"); got != "" {
		t.Errorf("want no log, got %q", got)
	}
	call(t, "POST", url+"/api/jobs/j/stop", "")
	await(t, url, "j", Stopped)
}

// TestUnfitRuntimeEnv: Ray accepts variables that are no text, and cannot start the job.
func TestUnfitRuntimeEnv(t *testing.T) {
	_, url := head(t, Options{})
	if code, text, _ := call(t, "POST", url+"/api/jobs/", `{"submission_id":"j","entrypoint":"true","runtime_env":{"env_vars":{"A":1}}}`); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	if d := await(t, url, "j", Failed); *d.ErrorType != ErrorSupervisor || d.DriverNodeID != nil {
		t.Errorf("record %+v", d)
	}
}

// TestOddIDs: an id is a name, never a path.
func TestOddIDs(t *testing.T) {
	c, url := head(t, Options{})
	for _, id := range []string{"..%2F..%2Fescape", "a%20b", "%E2%82%AC", strings.Repeat("x", 300)} {
		body, _ := json.Marshal(map[string]any{"entrypoint": "pwd", "submission_id": unescape(id)})
		if code, text, _ := call(t, "POST", url+"/api/jobs/", string(body)); code != 200 {
			t.Fatalf("%s: %d %s", id, code, text)
		}
		await(t, url, id, Succeeded)
		if got := logOf(t, url, id); !strings.HasPrefix(got, c.opts.Dir+"/job-") || strings.Count(got, "/") != strings.Count(c.opts.Dir, "/")+2 {
			t.Errorf("%s ran in %s", id, got)
		}
	}
}

func unescape(id string) string {
	return strings.NewReplacer("%2F", "/", "%20", " ", "%E2%82%AC", "€").Replace(id)
}

// TestTokens has what the comparison with Ray in test/realray does not ask.
func TestTokens(t *testing.T) {
	c, url := head(t, Options{Token: "right"})
	tests := map[string]struct {
		header []string
		code   int
	}{
		"Authorization comes first": {[]string{"Authorization", "Bearer wrong", "X-Ray-Authorization", "Bearer right"}, 403},
		"other scheme is skipped":   {[]string{"Authorization", "Basic x", "X-Ray-Authorization", "Bearer right"}, 200},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if code, text, _ := call(t, "GET", url+"/api/jobs/", "", tc.header...); code != tc.code {
				t.Errorf("want %d, got %d %s", tc.code, code, text)
			}
			want := tc.code
			if want == 200 {
				want = 404 // the handshake comes to the unknown id
			}
			if code, _, _ := call(t, "GET", url+"/api/jobs/none/logs/tail", "", tc.header...); code != want {
				t.Errorf("tail: want %d, got %d", want, code)
			}
		})
	}
	c.SetToken("")
	if code, _, _ := call(t, "GET", url+"/api/jobs/", ""); code != 200 {
		t.Errorf("without authentication: %d", code)
	}
}

func TestRuntimeEnv(t *testing.T) {
	_, url := head(t, Options{})
	body := `{"submission_id":"j","entrypoint":"echo $GREETING; ls","metadata":{"a":"b"},"runtime_env":{"pip":["x"],"env_vars":{"GREETING":"it's \"me\""}}}`
	if code, text, _ := call(t, "POST", url+"/api/jobs/", body); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	d := await(t, url, "j", Succeeded)
	if got := logOf(t, url, "j"); got != "it's \"me\"\n" {
		t.Errorf("log %q", got)
	}
	if d.Metadata["a"] != "b" || !bytes.Contains(d.RuntimeEnv, []byte(`"pip"`)) {
		t.Errorf("record %+v", d)
	}
	for _, dir := range []string{"gcs://none.zip", "https://example.com/a.zip", "/etc"} {
		_, text, _ := call(t, "POST", url+"/api/jobs/", fmt.Sprintf(`{"entrypoint":"ls","runtime_env":{"working_dir":%q}}`, dir))
		var id struct {
			ID string `json:"submission_id"`
		}
		if err := json.Unmarshal([]byte(text), &id); err != nil {
			t.Fatal(err)
		}
		if d := await(t, url, id.ID, Failed); *d.ErrorType != ErrorRuntimeEnv {
			t.Errorf("%s: %s", dir, *d.ErrorType)
		}
	}
}

// TestTailFollows: what is written later arrives, and a new connection starts from the beginning.
func TestTailFollows(t *testing.T) {
	proceed := make(chan struct{})
	c, url := head(t, Options{Run: func(ctx context.Context, l Launch) (int, error) {
		l.Started()
		_, _ = l.Output.WriteString("first\n")
		select {
		case <-proceed:
		case <-ctx.Done():
		}
		_, _ = l.Output.WriteString("second\n€")
		return 0, nil
	}})
	submitJob(t, url, "j", "anything")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, url+"/api/jobs/j/logs/tail", nil)
	if err != nil {
		t.Fatal(err)
	}
	if kind, data, err := ws.Read(ctx); err != nil || string(data) != "first\n" || kind != websocket.MessageText {
		t.Fatalf("first frame: %v %q, %v", kind, data, err)
	}
	c.CutTails()
	if _, _, err := ws.Read(ctx); err == nil || websocket.CloseStatus(err) != -1 {
		t.Errorf("want an abnormal closure, got %v", err)
	}
	close(proceed)
	if got, err := readTail(t, url, "j"); got != "first\nsecond\n€" || websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFrames(t *testing.T) {
	var got []string
	f := frames{write: func(s string) error { got = append(got, s); return nil }}
	if _, err := f.Write([]byte(strings.Repeat("x\n", 25))); err != nil {
		t.Fatal(err)
	}
	_ = f.flush(false)
	if len(got) != 3 || strings.Count(got[0], "\n") != 10 || strings.Count(got[2], "\n") != 5 {
		t.Errorf("frames of lines: %q", got)
	}
	got = nil
	_, _ = f.Write([]byte("a\xe2\x82"))
	_ = f.flush(false)
	_, _ = f.Write([]byte("\xacb"))
	_ = f.flush(false)
	if strings.Join(got, "|") != "a|€b" {
		t.Errorf("a character was cut: %q", got)
	}
	got = nil
	_, _ = f.Write(bytes.Repeat([]byte("y"), 3*frameBytes))
	_ = f.flush(true)
	if len(got) < 3 || len(strings.Join(got, "")) != 3*frameBytes {
		t.Errorf("%d frames of a long line", len(got))
	}
}

// TestCloseEndsEverything: no entrypoint outlives its head, nor what it has started.
func TestCloseEndsEverything(t *testing.T) {
	c, url := head(t, Options{Run: Shell{Grace: 50 * time.Millisecond}.Run})
	file := t.TempDir() + "/alive"
	submitJob(t, url, "j", fmt.Sprintf(`(trap '' TERM; while :; do date +%%N > %s; sleep 0.02; done) & wait`, file))
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal("the job does not run")
		}
	}
	c.Close()
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(150 * time.Millisecond)
	if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
		t.Error("something of the job still runs")
	}
	if d := record(t, url, "j"); d.Status != Stopped {
		t.Errorf("job is %s", d.Status)
	}
	if code, _, _ := call(t, "POST", url+"/api/jobs/", `{"entrypoint":"true"}`); code != 500 {
		t.Errorf("submitting to a closed head: %d", code)
	}
}

func TestCannotStart(t *testing.T) {
	_, url := head(t, Options{Run: func(context.Context, Launch) (int, error) { return 0, errors.New("no room") }})
	submitJob(t, url, "j", "true")
	if d := await(t, url, "j", Failed); *d.ErrorType != ErrorCommandStart || !strings.Contains(*d.Message, "no room") {
		t.Errorf("%s %s", *d.ErrorType, *d.Message)
	}
}
