package service

import (
	"io"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
)

func TestLastLines(t *testing.T) {
	for _, tc := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""}, {"a", 1, "a"}, {"a\n", 1, "a\n"}, {"a\nb", 1, "b"}, {"a\nb\n", 1, "b\n"}, {"a\nb\n", 2, "a\nb\n"}, {"a\nb\n", 0, ""}, {"\n\n\n", 2, "\n\n"},
	} {
		dash := dashboardfake.New(clock.RealClock{})
		dash.Put(dashboard.Job{SubmissionID: "demo", Status: dashboard.Running})
		dash.Write("demo", tc.text)
		dash.Set("demo", dashboard.Succeeded, "")
		var got strings.Builder
		out := &logSender{send: func(data []byte, _ int64) error { _, err := got.Write(data); return err }}
		if err := driverLog(t.Context(), dash, "demo", logQuery{tail: new(int32(tc.n))}, out); err != nil {
			t.Fatal(err)
		}
		if got.String() != tc.want || out.next != int64(len(tc.text)) {
			t.Errorf("the last %d of %q are %q up to %d, want %q", tc.n, tc.text, got.String(), out.next, tc.want)
		}
	}
}

// The place that is marked at the end of a log is found, however the log comes.
func TestEndOfLog(t *testing.T) {
	text := strings.Repeat("some line\n", 2000) + "the end"
	for _, piece := range []int{1, 7, 4096, 5000, len(text)} {
		end := &logEnd{}
		for rest := text; rest != ""; {
			n := min(piece, len(rest))
			_, _ = io.WriteString(end, rest[:n])
			rest = rest[n:]
		}
		var before, after strings.Builder
		m := end.mark(&before, &after)
		if _, err := io.WriteString(m, text+" and more"); err != nil || before.String() != text || after.String() != " and more" {
			t.Errorf("pieces of %d: the log ends after %d bytes of %d, %v", piece, before.Len(), len(text), err)
		}
	}
}

// TestLogOfAnEndedJob is read at once: Ray ends a stream of it seconds after its last byte.
func TestLogOfAnEndedJob(t *testing.T) {
	dash := dashboardfake.New(clock.RealClock{})
	dash.Put(dashboard.Job{SubmissionID: "demo", Status: dashboard.Running})
	dash.Write("demo", "one\ntwo\n")
	dash.Set("demo", dashboard.Succeeded, "")
	for _, q := range []logQuery{{}, {follow: true}, {follow: true, offset: 4}} {
		var got strings.Builder
		var next int64
		out := &logSender{send: func(data []byte, n int64) error {
			next = n
			_, err := got.Write(data)
			return err
		}}
		if err := driverLog(t.Context(), dash, "demo", q, out); err != nil {
			t.Fatal(err)
		}
		if want := "one\ntwo\n"[q.offset:]; got.String() != want || next != 8 {
			t.Errorf("%+v: got %q up to %d, want %q up to 8", q, got.String(), next, want)
		}
	}
	if n := dash.Calls("TailJobLogs"); n > 0 {
		t.Errorf("the log was followed %d times", n)
	}
}

// FuzzMark cuts a log anywhere: what comes before and after the place that a text marks is the log, and the place is right.
func FuzzMark(f *testing.F) {
	f.Add("one two three two four", 8, 5, 3)
	f.Add("aaaaaaaaaa", 3, 4, 1)
	f.Add("", 0, 0, 0)
	f.Fuzz(func(t *testing.T, log string, end, length, piece int) {
		end = min(max(end, 0), len(log))
		text := log[max(0, end-max(length, 0)):end]
		if text == "" {
			t.Skip()
		}
		var before, after strings.Builder
		m := &mark{text: text, from: int64(end), before: &before, after: &after}
		for rest := log; rest != ""; {
			n := min(max(piece, 1), len(rest))
			if wrote, err := io.WriteString(m, rest[:n]); wrote != n || err != nil {
				t.Fatalf("wrote %d of %d: %v", wrote, n, err)
			}
			rest = rest[n:]
		}
		if before.String()+after.String() != log || !m.found {
			t.Fatalf("%q and %q are not %q", before.String(), after.String(), log)
		}
		if !strings.HasSuffix(before.String(), text) {
			t.Errorf("%q was taken to end in %q", before.String(), text)
		}
	})
}
