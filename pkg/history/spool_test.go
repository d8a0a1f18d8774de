package history_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/raygate/raygate/pkg/history"
)

func spool(t *testing.T, s *history.Store, k history.Key) *history.Spool {
	t.Helper()
	p, err := s.Spool(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// add appends to a log, a piece at a time.
func add(t *testing.T, p *history.Spool, text string, piece int) {
	t.Helper()
	for ; text != ""; text = text[min(piece, len(text)):] {
		if err := p.Add(t.Context(), []byte(text[:min(piece, len(text))])); err != nil {
			t.Fatal(err)
		}
	}
}

func flush(t *testing.T, p *history.Spool) {
	t.Helper()
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func copied(t *testing.T, p *history.Spool, from int64) string {
	t.Helper()
	var text strings.Builder
	if err := p.CopyFrom(t.Context(), from, &text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// numbered is a log in which each place differs from others.
func numbered(lines int) string {
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "line %06d \x00\xff\n", i)
	}
	return text.String() + "the end"
}

// TestSpool stores a log in parts, from several processes, and reads it from any byte on.
func TestSpool(t *testing.T) {
	everywhere(t, history.Limits{}, func(t *testing.T, s *history.Store) {
		k, text := job("demo", 1, 1).Key, numbered(40_000) // 640 KB
		first := spool(t, s, k)
		if first.End() != 0 || len(first.Last()) != 0 {
			t.Fatalf("a new log has %d bytes, ends in %q", first.End(), first.Last())
		}
		add(t, first, text[:300_000], 32<<10) // a part is stored, the rest is lost with the process
		second := spool(t, s, k)
		at := second.End()
		if at != 256<<10 || string(second.Last()) != text[at-256:at] {
			t.Fatalf("%d bytes are stored, ending in %q", at, second.Last())
		}
		add(t, second, text[at:], 7777)
		flush(t, second)
		flush(t, second) // nothing
		third := spool(t, s, k)
		for _, from := range []int64{0, 1, at - 1, at, at + 1, int64(len(text)) - 1, int64(len(text)), int64(len(text)) + 1} {
			want := text[min(from, int64(len(text))):]
			for name, p := range map[string]*history.Spool{"second": second, "third": third} {
				if got := copied(t, p, from); got != want {
					t.Errorf("%s process, from %d on: %d bytes, want %d", name, from, len(got), len(want))
				}
			}
		}
		if err := third.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p := spool(t, s, k); p.End() != 0 || third.End() != 0 {
			t.Errorf("%d bytes after a reset", p.End())
		}
	})
}

// TestSpoolIsBounded stores the beginning and the end of a log that is too large, and never more than the limit.
func TestSpoolIsBounded(t *testing.T) {
	const limit = 4000
	bucket := memblob.OpenBucket(nil)
	s := history.New(bucket, history.Limits{Log: limit})
	k, text := job("demo", 1, 1).Key, numbered(3000) // 48 KB
	p := spool(t, s, k)
	for n, rest := 0, text; rest != ""; n++ {
		piece := rest[:min(len(rest), 1+n%1500)]
		rest = rest[len(piece):]
		add(t, p, piece, 400)
		if n%3 == 0 {
			flush(t, p)
		}
		if n%5 == 0 {
			p = spool(t, s, k)
			if at := int(p.End()); text[:at] != text[:len(text)-len(rest)] { // it was not flushed
				rest = text[at:]
			}
		}
		var size int64
		for it := bucket.List(nil); ; {
			o, err := it.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			size += o.Size
		}
		if size > limit {
			t.Fatalf("%d bytes are stored after piece %d", size, n)
		}
	}
	flush(t, p)
	r := job("demo", 1, 1)
	in, out := io.Pipe()
	go func() { _ = out.CloseWithError(p.CopyFrom(t.Context(), 0, out)) }()
	put(t, s, r, in)
	got := logOf(t, s, r.Key, 0)
	begin, end, cut := strings.Cut(got, "\n[raygate: ")
	_, end, _ = strings.Cut(end, " bytes of the log were cut here]\n")
	if !cut || !strings.HasPrefix(text, begin) || !strings.HasSuffix(text, end) || len(begin) < 1400 || len(end) < 900 || len(r.Lost) > 0 {
		t.Errorf("the log begins with %d bytes and ends with %d: %q, lost %q", len(begin), len(end), got, r.Lost)
	}
}

// TestSpoolOfTwoProcesses shows that a process notices parts of another one, and of its own whose answer was lost.
func TestSpoolOfTwoProcesses(t *testing.T) {
	everywhere(t, history.Limits{}, func(t *testing.T, s *history.Store) {
		k := job("demo", 1, 1).Key
		first, second := spool(t, s, k), spool(t, s, k)
		text := "begin and more and the end"
		add(t, first, text[:5], 5)
		flush(t, first)
		add(t, second, text[:14], 99)
		flush(t, second)
		add(t, first, text[5:], 99)
		flush(t, first)
		if got := copied(t, spool(t, s, k), 0); got != text {
			t.Errorf("the log is %q", got)
		}
		add(t, second, text[14:16], 99)
		if err := second.Flush(t.Context()); err == nil || second.End() != first.End() || !bytes.HasSuffix(first.Last(), second.Last()) {
			t.Errorf("after a longer part: %v, %d bytes of %d", err, second.End(), first.End())
		}
		if got := copied(t, second, 0); got != text {
			t.Errorf("the log is %q", got)
		}
	})
}

// TestSpoolWithoutStore shows that what could not be stored is stored later.
func TestSpoolWithoutStore(t *testing.T) {
	s := open(t, "file://"+t.TempDir()+"/history", history.Limits{})
	k, text := job("demo", 1, 1).Key, numbered(40_000)
	p := spool(t, s, k)
	away, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Add(away, []byte(text)); err == nil || p.End() != 256<<10 {
		t.Errorf("added %d bytes while the store was away, %v", p.End(), err)
	}
	if err := p.Add(away, []byte("more")); err == nil || p.End() != 256<<10 {
		t.Errorf("%d bytes are in memory, %v", p.End(), err)
	}
	add(t, p, text[p.End():], 32<<10)
	flush(t, p)
	if got := copied(t, spool(t, s, k), 0); got != text {
		t.Errorf("%d bytes are stored, want %d", len(got), len(text))
	}
}

// TestSweepSpools deletes the logs that records have, and abandoned ones.
func TestSweepSpools(t *testing.T) {
	everywhere(t, history.Limits{}, func(t *testing.T, s *history.Store) {
		for _, name := range []string{"ended", "runs"} {
			p := spool(t, s, job(name, 1, 1).Key)
			for range 3 {
				add(t, p, "a part", 99)
				flush(t, p)
			}
		}
		put(t, s, job("ended", 1, 1), nil)
		put(t, s, job("runs", 2, 1), nil) // another attempt
		now := time.Now()
		for _, tc := range []struct {
			later       time.Duration
			ended, runs int64
		}{{0, 0, 18}, {59 * time.Minute, 0, 18}, {2 * time.Hour, 0, 0}} {
			if names, err := s.Namespaces(t.Context()); err != nil || len(names) != 1 {
				t.Errorf("namespaces %v, %v", names, err)
			}
			if _, err := s.Sweep(t.Context(), "team-a", now.Add(tc.later), history.Retention{Age: time.Hour}); err != nil {
				t.Fatal(err)
			}
			ended, runs := spool(t, s, job("ended", 1, 1).Key).End(), spool(t, s, job("runs", 1, 1).Key).End()
			if ended != tc.ended || runs != tc.runs {
				t.Errorf("after %s: %d and %d bytes, want %d and %d", tc.later, ended, runs, tc.ended, tc.runs)
			}
		}
	})
}
