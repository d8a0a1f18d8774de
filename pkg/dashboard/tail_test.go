package dashboard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	clocktesting "k8s.io/utils/clock/testing"
)

// tailServer sends the frames and ends as told.
func tailServer(t *testing.T, end func(*websocket.Conn), frames ...string) *HTTPClient {
	t.Helper()
	return serve(t, Config{Token: "s3cret"}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/jobs/demo/logs/tail" || r.Header.Get("X-Ray-Authorization") != "Bearer s3cret" {
			t.Errorf("got %s with %v", r.URL, r.Header)
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		for _, frame := range frames {
			if err := conn.Write(r.Context(), websocket.MessageText, []byte(frame)); err != nil {
				return
			}
		}
		end(conn)
	})
}

func closeNormally(c *websocket.Conn) { _ = c.Close(websocket.StatusNormalClosure, "") }

func TestTailJobLogs(t *testing.T) {
	long := strings.Repeat("x", 3<<20) // far above the limit that WebSocket libraries have
	c := tailServer(t, closeNormally, "one\ntw", "", "o\n", long)
	stream, err := c.TailJobLogs(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(stream)
	if err != nil || string(got) != "one\ntwo\n"+long {
		t.Errorf("got %d bytes and error %v", len(got), err)
	}
	if n, err := stream.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("reading on: want io.EOF, got %d bytes and %v", n, err)
	}
	if err := stream.Close(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Logf("closing: %v", err)
	}
}

func TestTailBreaks(t *testing.T) {
	for name, end := range map[string]func(*websocket.Conn){
		"without a word": func(c *websocket.Conn) { _ = c.CloseNow() },
		"with an error":  func(c *websocket.Conn) { _ = c.Close(websocket.StatusInternalError, "oops") },
	} {
		t.Run(name, func(t *testing.T) {
			stream, err := tailServer(t, end, "one\n").TailJobLogs(t.Context(), "demo")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(stream)
			assertKind(t, err, ErrUnavailable)
			if string(got) != "one\n" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestTailRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    error
	}{
		"unknown":           {answer(404, plain, "Job demo does not exist"), ErrNotFound},
		"by the API server": {answer(404, jsonType, kubeStatus), ErrUnavailable},
		"no token":          {answer(401, plain, "Unauthorized"), ErrUnauthenticated},
		"a driver":          {answer(400, plain, "no submission"), ErrInvalid},
		"no WebSocket":      {answer(200, plain, "hello"), ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := serve(t, Config{}, tc.handler).TailJobLogs(t.Context(), "demo")
			assertKind(t, err, tc.want)
		})
	}
}

// TestTailEndsWithItsReader ends streams that wait for a frame which never comes, and that outlive the time for a handshake.
func TestTailEndsWithItsReader(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	defer close(open)
	c := tailServer(t, func(*websocket.Conn) { <-open }, "one\n")
	c.config.ReadTimeout = 500 * time.Millisecond
	for name, end := range map[string]func(context.CancelFunc, io.Closer){
		"context": func(cancel context.CancelFunc, _ io.Closer) { cancel() },
		"Close":   func(_ context.CancelFunc, stream io.Closer) { _ = stream.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream := inTime(t, func() (io.ReadCloser, error) { return c.TailJobLogs(ctx, "demo") })
			if _, err := io.ReadFull(stream, make([]byte, 4)); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(2*c.config.ReadTimeout, func() { end(cancel, stream) })
			started := time.Now()
			if _, err := stream.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("want an error, got %v", err)
			}
			if time.Since(started) < c.config.ReadTimeout {
				t.Error("the stream ended with the time for the handshake")
			}
		})
	}
}

// TestFollow breaks the stream in the middle, ends it too early, and ends it.
func TestFollow(t *testing.T) {
	const log = "one\ntwo\nthree\n"
	var attempt, gets atomic.Int32
	c := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/tail") {
			if gets.Add(1) < 3 {
				answer(200, jsonType, `{"status":"RUNNING"}`)(w, r)
			} else {
				answer(200, jsonType, `{"status":"FAILED","message":"it broke"}`)(w, r)
			}
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		n := attempt.Add(1)
		_ = conn.Write(r.Context(), websocket.MessageText, []byte(log[:min(int(n)*6, len(log))]))
		if n == 1 {
			_ = conn.CloseNow()
			return
		}
		closeNormally(conn)
	})
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				clock.Step(time.Minute)
			}
		}
	}()
	var out bytes.Buffer
	job, err := Follow(t.Context(), c, "demo", &out, FollowOptions{Clock: clock})
	if err != nil || job.Status != Failed || job.Message != "it broke" {
		t.Errorf("got %v and error %v", job, err)
	}
	if out.String() != log {
		t.Errorf("want %q, got %q", log, out.String())
	}
}

func TestFollowGivesUp(t *testing.T) {
	broken := errors.New("disk full")
	for name, tc := range map[string]struct {
		client *HTTPClient
		w      io.Writer
		want   error
	}{
		"when the job is unknown":  {serve(t, Config{}, answer(404, plain, "no")), io.Discard, ErrNotFound},
		"when nobody wants to":     {tailServer(t, closeNormally, "x"), failingWriter{broken}, broken},
		"when it runs out of time": {serve(t, Config{}, answer(503, plain, "no")), io.Discard, ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Follow(t.Context(), tc.client, "demo", tc.w, FollowOptions{Patience: 1}); !errors.Is(err, tc.want) {
				t.Errorf("want %v, got %v", tc.want, err)
			}
		})
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
