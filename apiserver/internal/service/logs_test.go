package service

import (
	"io"
	"strings"
	"testing"
)

func TestLastLines(t *testing.T) {
	for _, tc := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""}, {"a", 1, "a"}, {"a\n", 1, "a\n"}, {"a\nb", 1, "b"}, {"a\nb\n", 1, "b\n"}, {"a\nb\n", 2, "a\nb\n"}, {"a\nb\n", 0, ""}, {"\n\n\n", 2, "\n\n"},
	} {
		if got := lastLines(tc.text, tc.n); got != tc.want {
			t.Errorf("the last %d of %q are %q, want %q", tc.n, tc.text, got, tc.want)
		}
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
