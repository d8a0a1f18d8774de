package progress

import (
	"bytes"
	"strings"
	"testing"
)

func TestWithoutATerminal(t *testing.T) {
	var b bytes.Buffer
	r := New(&b)
	for _, text := range []string{"one", "one", "two"} {
		r.Show(text)
	}
	r.Clear()
	r.Show("two") // was said
	r.Note("note")
	r.Show("three")
	r.Clear()
	if got, want := b.String(), "one\ntwo\nnote\nthree\n"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}

func TestOnATerminal(t *testing.T) {
	var b bytes.Buffer
	r := New(&b)
	r.terminal, r.width = true, func() int { return 20 }
	r.Show("one")
	r.Show("two, which is longer than the line")
	r.Note("note")
	r.Clear()
	r.Clear()
	r.Note("end")
	got := b.String()
	if !strings.HasSuffix(got, "\r\x1b[Kend\n") && !strings.HasSuffix(got, "\r\x1b[K"+"end\n") {
		t.Errorf("the line stays: %q", got)
	}
	for part := range strings.SplitSeq(got, "\r\x1b[K") {
		if line, _, _ := strings.Cut(part, "\n"); len(line) >= 20 {
			t.Errorf("a line that does not fit: %q", line)
		}
	}
	if !strings.Contains(got, "note\n\r\x1b[K") {
		t.Errorf("the line does not come back after a note: %q", got)
	}
}
