package history_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/internal/testing/s3server"
	"github.com/raygate/raygate/pkg/history"
)

// server is an S3 server; nil with -short.
var server *s3server.Server

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "raygate-s3-")
	if err == nil {
		server, err = s3server.New(dir)
	}
	code := 1
	if err == nil {
		code, err = programs.Run(m, &server.Program)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// bucket returns the URL of a new bucket.
func bucket(t *testing.T) string {
	t.Helper()
	if server == nil {
		t.Skip("needs an S3 server, which -short leaves out")
	}
	return server.Bucket(t)
}

func open(t *testing.T, address string, l history.Limits) *history.Store {
	t.Helper()
	s, err := history.Open(t.Context(), address, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestS3Refuses(t *testing.T) {
	good, secret := bucket(t), os.Getenv("AWS_SECRET_ACCESS_KEY")
	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hangs.Close() }()
	for name, tc := range map[string]struct {
		address, secret string
		limit           time.Duration
		want            string
	}{
		"wrong credentials": {good, "not-the-secret", time.Minute, "403"},
		"unknown bucket":    {s3server.At(server.Endpoint, "nosuch"), secret, time.Minute, "NoSuchBucket"},
		"no server":         {s3server.At("http://127.0.0.1:1", "history"), secret, time.Minute, "connection refused"},
		"hangs":             {s3server.At("http://"+hangs.Addr().String(), "history"), secret, 300 * time.Millisecond, "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_SECRET_ACCESS_KEY", tc.secret)
			s := open(t, tc.address, history.Limits{})
			ctx, cancel := context.WithTimeout(t.Context(), tc.limit)
			defer cancel()
			begin := time.Now()
			created, err := s.Put(ctx, job("demo", 1, 1), strings.NewReader("log"))
			if created || err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), tc.secret) {
				t.Errorf("Put = %v, %v; want an error with %q", created, err, tc.want)
			}
			if took := time.Since(begin); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestS3Hangs shows that every request ends without a deadline of the caller, and so does the reader of a log.
func TestS3Hangs(t *testing.T) {
	var hangs atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hangs.Load() {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "begin")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	s := open(t, s3server.At(front.URL, "history")+"&anonymous=true", history.Limits{Wait: 200 * time.Millisecond})
	ctx, r := t.Context(), job("demo", 1, 1)
	var text strings.Builder
	for end := time.Now().Add(time.Minute); text.String() != "begin" && time.Now().Before(end); { // on a busy machine the answer itself may be late
		text.Reset()
		in, err := s.Log(ctx, r.Key, 0)
		if err == nil {
			_, err = io.Copy(&text, in)
			_ = in.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "no answer within 200ms") {
			t.Fatalf("log %q, %v", text.String(), err)
		}
	}
	if text.String() != "begin" {
		t.Errorf("log %q", text.String())
	}
	hangs.Store(true)
	_, find := s.Find(ctx, r.Key)
	_, get := s.Get(ctx, r.Key)
	_, put := s.Put(ctx, r, nil)
	_, log := s.Log(ctx, r.Key, 0)
	_, list := s.List(ctx, history.Query{Namespace: r.Namespace}, history.Cursor{}, 10)
	_, sweep := s.Sweep(ctx, r.Namespace, begin, history.Retention{Age: 1})
	for name, err := range map[string]error{"Find": find, "Get": get, "Put": put, "Log": log, "List": list, "Sweep": sweep} {
		if err == nil || errors.Is(err, history.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestS3EndsWithinALog kills the server after it has got a part of a log. No record exists then, and the next attempt stores all of it.
func TestS3EndsWithinALog(t *testing.T) {
	s := open(t, bucket(t), history.Limits{})
	text := make([]byte, 12<<20) // three parts of an upload
	_, _ = rand.NewChaCha8([32]byte{}).Read(text)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log := io.MultiReader(bytes.NewReader(text[:6<<20]), killing{server}, bytes.NewReader(text[6<<20:]))
	created, err := s.Put(ctx, job("demo", 1, 1), log)
	if created || err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Put = %v, %v", created, err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	r := job("demo", 1, 1)
	if ok, err := s.Has(ctx, r.Key); ok || err != nil {
		t.Errorf("Has = %v, %v", ok, err)
	}
	if page, err := s.List(ctx, history.Query{Namespace: r.Namespace}, history.Cursor{}, 10); len(page.Items) > 0 || err != nil {
		t.Errorf("List = %v, %v", page.Items, err)
	}
	put(t, s, r, bytes.NewReader(text))
	if got := logOf(t, s, r.Key, 0); sha256.Sum256([]byte(got)) != sha256.Sum256(text) {
		t.Errorf("the log has %d bytes, and is another one", len(got))
	}
	if got := logOf(t, s, r.Key, 12<<20-3); got != string(text[12<<20-3:]) {
		t.Errorf("the log from its last 3 bytes on has %d", len(got))
	}
}

// killing kills a server when it is read.
type killing struct{ *s3server.Server }

// Read implements io.Reader.
func (k killing) Read([]byte) (int, error) {
	k.Kill()
	return 0, io.EOF
}
