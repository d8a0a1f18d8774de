package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// repeated answers with a beginning, a text as often as that goes into so many bytes, and an end.
func repeated(begin, text, end string, size int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		_, _ = io.WriteString(w, begin)
		part := strings.Repeat(text, 64<<10/len(text)+1)
		for sent := 0; sent < size; sent += len(part) {
			if _, err := io.WriteString(w, part); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, end)
	}
}

// A user who may create a cluster controls what its dashboard answers. An answer that would take far more memory than its size is refused
// first.
func TestHostileAnswers(t *testing.T) {
	ctx := t.Context()
	list := func(c *HTTPClient) error { _, err := c.ListJobs(ctx); return err }
	get := func(c *HTTPClient) error { _, err := c.GetJob(ctx, "demo"); return err }
	for name, tc := range map[string]struct {
		call   func(*HTTPClient) error
		answer http.HandlerFunc
		want   error
	}{
		"a list of ones":            {list, repeated(`[`, `1,`, `1]`, 60<<20), ErrTooLarge},
		"a list of jobs":            {list, repeated(`[`, `{"status":"PENDING"},`, `1]`, 60<<20), ErrTooLarge},
		"a list of one job":         {list, repeated(`[{"status":"PENDING","message":"`, `x`, `"}]`, 60<<20), ErrTooLarge},
		"a list in a list":          {list, repeated(``, `[`, ``, 60<<20), ErrMalformed},
		"a list of spaces":          {list, repeated(``, ` `, ``, 60<<20), ErrTooLarge},
		"a list without an end":     {list, repeated(`[`, `{"status":"PENDING"}`, ``, 60<<20), ErrMalformed},
		"a list of more than there": {list, repeated(`[{"status":"PENDING","metadata":{"a":"`, `x`, `"}}`+strings.Repeat(`,{"status":"PENDING"}`, 10)+`]`, 1<<20), nil},
		"a job of many values":      {get, repeated(`{"status":"PENDING","runtime_env":{"a":[`, `{},`, `{}]}}`, 3<<20), ErrTooLarge},
		"a job of many keys":        {get, repeated(`{"status":"PENDING"`, `,"":0`, `}`, 3<<20), ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, Config{ReadTimeout: time.Minute}, tc.answer)
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := tc.call(c)
			runtime.ReadMemStats(&after)
			if tc.want == nil && err != nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 100 {
				t.Errorf("%d MiB were allocated", made)
			}
		})
	}
}

// A job that is not worth its memory does not hide the others of a list.
func TestListLeavesOutAJobOfManyValues(t *testing.T) {
	c := serve(t, Config{}, repeated(`[{"status":"RUNNING"},{"status":"PENDING","runtime_env":{"a":[`, `{},`, `{}]}}]`, 1<<20))
	jobs, err := c.ListJobs(t.Context())
	if err != nil || len(jobs) != 1 || jobs[0].Status != Running {
		t.Errorf("got %v, %v", jobs, err)
	}
}

// Memory for an answer is counted before it is allocated.
func TestRoomForAnswers(t *testing.T) {
	var held int64
	full := errors.New("full")
	c := serve(t, Config{Room: func(_ context.Context, n int64) error {
		if held += n; held > 6<<20 {
			return full
		}
		return nil
	}}, repeated(`[`, `{"status":"PENDING"},`, `{"status":"PENDING"}]`, 100<<10))
	if _, err := c.ListJobs(t.Context()); err != nil || held < 100<<10 {
		t.Errorf("%d bytes were counted, error %v", held, err)
	}
	c.config.MaxJob = 60 << 20
	big := serve(t, Config{Room: c.config.Room}, repeated(`[{"status":"PENDING","message":"`, `x`, `"}]`, 4<<20))
	if _, err := big.ListJobs(t.Context()); !errors.Is(err, full) {
		t.Errorf("without room: %v", err)
	}
}

// A log is read piece by piece, whatever its length.
func TestLogIsNotHeld(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 50 MiB")
	}
	c := serve(t, Config{Room: func(context.Context, int64) error { return errors.New("a log needs no room") }}, repeated(`{"more": [1], "logs": "`, `line\n`, `"}`, 50<<20))
	log, err := c.JobLogs(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	if log.AtMost >= 0 {
		t.Errorf("at most %d bytes of an answer of unknown length", log.AtMost)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n, peak := int64(0), uint64(0)
	for buffer := make([]byte, 1<<20); err == nil; {
		var more int
		more, err = io.ReadFull(log, buffer)
		if n += int64(more); n%(8<<20) < 1<<20 {
			runtime.GC()
			runtime.ReadMemStats(&after)
			peak = max(peak, after.HeapAlloc)
		}
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) || n < 30<<20 {
		t.Errorf("read %d bytes: %v", n, err)
	}
	if peak > before.HeapAlloc+8<<20 {
		t.Errorf("%d MiB were held", (peak-before.HeapAlloc)>>20)
	}
}

func TestLogThatIsTooLongOrBreaksOff(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"too long":         {repeated(`{"logs":"`, `x`, `"}`, 3<<20), ErrTooLarge},
		"too much before":  {repeated(`{"more":"`, `x`, `","logs":""}`, 1<<20), ErrTooLarge},
		"without an end":   {repeated(`{"logs":"`, `x`, ``, 1<<10), ErrUnavailable},
		"a wrong escape":   {repeated(`{"logs":"`, `\uzzzz`, `"}`, 1<<10), ErrMalformed},
		"cut in an escape": {repeated(`{"logs":"abc\u00`, `x`, ``, 0), ErrUnavailable},
		"no text":          {repeated(`{"logs":7`, ` `, `}`, 1), ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, Config{MaxLogs: 2 << 20}, tc.answer)
			if _, err := wholeLog(t.Context(), c); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// A dashboard that stops in the middle of a log ends it with an error; a reader that is slow does not.
func TestLogThatStalls(t *testing.T) {
	t.Parallel()
	c := serve(t, Config{LogsTimeout: 500 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		_, _ = io.WriteString(w, `{"logs":"abc`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	log := inTime(t, func() (*Log, error) { return c.JobLogs(t.Context(), "demo") })
	defer func() { _ = log.Close() }()
	time.Sleep(time.Second)
	first := make([]byte, 3)
	if _, err := io.ReadFull(log, first); err != nil || string(first) != "abc" {
		t.Errorf("after a pause of the reader: %q, %v", first, err)
	}
	if _, err := log.Read(first); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// FuzzLogText: a log that is read piece by piece is what encoding/json makes of it.
func FuzzLogText(f *testing.F) {
	for _, text := range []string{"", "a\nb", `\u00e4\ud83d\ude00\ud83d x \udc00\/\"\\`, `\b\f\r\t`, `\ud83d\u0041`, strings.Repeat("x", 5000) + `\n`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body := `{"logs":"` + text + `"}`
		var want struct {
			Logs *string `json:"logs"`
		}
		if json.Unmarshal([]byte(body), &want) != nil || want.Logs == nil || !utf8.ValidString(text) {
			t.Skip() // control characters, and a log that ends early, are read leniently
		}
		c, err := New(Config{URL: &url.URL{Scheme: "http", Host: "demo:8265"}, Transport: cannedAnswer{200, jsonType, []byte(body)}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := wholeLog(t.Context(), c)
		if strings.Contains(text, `"logs"`) {
			t.Skip()
		}
		if err != nil || got != *want.Logs {
			t.Errorf("%s: got %q, %v, want %q", fmt.Sprintf("%.200q", body), got, err, *want.Logs)
		}
	})
}
