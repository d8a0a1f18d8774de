package scripts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogBuffer(t *testing.T) {
	for name, tc := range map[string]struct {
		parts []string
		want  string // lines, the open one behind >
	}{
		"lines":                     {[]string{"a\nb\n"}, "a|b>"},
		"parts within lines":        {[]string{"a", "b\nc", "\n", "d"}, "ab|c>d"},
		"Windows":                   {[]string{"a\r\nb\r", "\n"}, "a|b>"},
		"a progress bar":            {[]string{"1%\r", "50%\r", "100%\r100%\nend\n"}, "100%|end>"},
		"an open progress bar":      {[]string{"1%\r", "50%\r", "99%"}, ">99%"},
		"colours":                   {[]string{"\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07\n"}, "red link>"},
		"a colour in two parts":     {[]string{"a\x1b", "[3", "1mb\n"}, "ab>"},
		"an escape that never ends": {[]string{"\x1b]", strings.Repeat("x", 300), "\n"}, strings.Repeat("x", 300) + ">"},
		"empty lines":               {[]string{"\n\na\n"}, "||a>"},
	} {
		t.Run(name, func(t *testing.T) {
			s := scriptOf(t, "logbuffer")
			got := s.get("(() => { const b = new LogBuffer(); for (const p of parts) b.append(p); const n = b.snapshot(); return n.blocks.flatMap((x) => x.lines).join('|') + '>' + n.open; })()", object{"parts": tc.parts})
			if got != tc.want {
				t.Errorf("the log is %q, want %q", got, tc.want)
			}
		})
	}
}

// TestLogBufferIsBounded feeds far more than is kept, as lines, as one line, and as a progress bar.
func TestLogBufferIsBounded(t *testing.T) {
	s := scriptOf(t, "logbuffer")
	for name, tc := range map[string]struct{ part, last string }{
		"lines":        {strings.Repeat("0123456789\n", 1000), "0123456789"},
		"one line":     {strings.Repeat("0123456789", 1000), ""},
		"progress bar": {strings.Repeat("123456789\r", 1000), "123456789"},
		"empty lines":  {strings.Repeat("\n", 5000), ""},
		"escapes":      {strings.Repeat("\x1b[31m\x1b", 1000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.get(`(() => {
				const b = new LogBuffer({maxLines: 2000, maxChars: 100000});
				let most = 0, lines = 0;
				for (let i = 0; i < 20; i++) {
					b.append(part);
					most = Math.max(most, b.open.length + b.rest.length + b.blocks.reduce((n, x) => n + x.lines.reduce((m, l) => m + l.length + 1, 0), 0));
					lines = Math.max(lines, b.blocks.reduce((n, x) => n + x.lines.length, 0));
				}
				b.end();
				const all = b.blocks.flatMap((x) => x.lines);
				return {most: most <= 110000, lines: lines <= 2200, last: all.at(-1) ?? '', counted: all.length === b.lines};
			})()`, object{"part": tc.part})
			want := object{"most": true, "lines": true, "last": tc.last, "counted": true}
			if tc.last == "" {
				delete(want, "last")
				delete(got.(map[string]any), "last")
			}
			if diff := cmp.Diff(any(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSnapshotsStay(t *testing.T) {
	s := scriptOf(t, "logbuffer")
	got := s.get(`(() => {
		const b = new LogBuffer({maxLines: 600});
		for (let i = 0; i < 450; i++) b.append(i + '\n');
		const one = b.snapshot();
		b.append('450\n');
		const two = b.snapshot(one);
		for (let i = 451; i < 1500; i++) b.append(i + '\n');
		const three = b.snapshot(two);
		b.clear();
		b.append('anew\n');
		const four = b.snapshot(three);
		const count = (n) => n.blocks.reduce((m, x) => m + x.lines.length, 0);
		return {
			one: count(one), two: count(two), shared: two.blocks.map((x, i) => x === one.blocks[i]), first: three.blocks[0].lines[0], kept: count(three) + three.dropped,
			four: four.blocks.map((x) => [three.blocks.some((o) => o.id === x.id), x.lines.join()]),
		};
	})()`, nil)
	want := object{"one": 450.0, "two": 451.0, "shared": []any{true, true, false}, "first": "800", "kept": 1500.0, "four": []any{[]any{false, "anew"}}}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFindInLog(t *testing.T) {
	s := scriptOf(t, "logbuffer")
	blocks := []object{{"id": 7, "lines": []string{"an Error", "fine"}}, {"id": 8, "lines": []string{"error error"}}}
	for expression, want := range map[string]any{
		"find(blocks, 'ERROR')":           object{"found": []any{object{"block": 7.0, "line": 0.0}, object{"block": 8.0, "line": 0.0}}, "more": false},
		"find(blocks, 'error', 1)":        object{"found": []any{object{"block": 7.0, "line": 0.0}}, "more": true},
		"find(blocks, '').found":          []any{},
		"split('error Error x', 'ERROR')": []any{"", "error", " ", "Error", " x"},
		"split('abc', '')":                []any{"abc"},
		"split('İerror', 'error')":        []any{"İerror"}, // whose small letter is longer
	} {
		if diff := cmp.Diff(want, s.get(expression, object{"blocks": blocks})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", expression, diff)
		}
	}
}
