package shell

import (
	"strings"
	"testing"
)

func TestOperator(t *testing.T) {
	for line, want := range map[string]string{
		"python main.py":                   "",
		"a; b":                             ";",
		"a &":                              "&",
		"a && b; c":                        "&&",
		"a || b":                           "||",
		"a | b":                            "|",
		"a > out && b":                     ">",
		"a\nb":                             "line break",
		"for x in 1 2; do echo $x; done":   ";",
		"for x in 1 2\ndo echo $x\ndone":   "line break",
		"(a)":                              "(",
		"bash -c 'a; b'":                   "",
		`echo "a; b" \; c`:                 "",
		"python main.py # first; the rest": "",
		"echo $(date; id)":                 "",
		"A=1 python main.py --x={1..3}":    "",
		"":                                 "",
	} {
		if got, err := Operator(line); got != want || err != nil {
			t.Errorf("%q: operator %q, error %v, want %q", line, got, err, want)
		}
	}
	for _, line := range []string{"echo 'a", `echo "a`, "a &&", "a )", "if a"} {
		if got, err := Operator(line); err == nil {
			t.Errorf("%q: operator %q, want an error", line, got)
		}
	}
}

func TestValues(t *testing.T) {
	for value, want := range map[string]struct{ plain, oneWord, expands bool }{
		"4":                 {plain: true, oneWord: true},
		"10.0.0.1:6379":     {plain: true, oneWord: true},
		"a=b":               {oneWord: true},
		`'{"special": 1}'`:  {oneWord: true, expands: true},
		`{"special": 1}`:    {expands: true},
		`"{\"special\":1}"`: {oneWord: true, expands: true},
		"$CPUS":             {oneWord: true, expands: true},
		"$(nproc)":          {oneWord: true, expands: true},
		"/tmp/a; b":         {},
		"/tmp/a ":           {},
		" a":                {},
		"a #b":              {},
		"a > b":             {},
		"a &":               {},
		"*.log":             {},
		`\*.log`:            {oneWord: true, expands: true},
		"'a":                {expands: true},
	} {
		if got := Plain(value); got != want.plain {
			t.Errorf("%q: plain %t, want %t", value, got, want.plain)
		}
		if got := OneWord(value); got != want.oneWord {
			t.Errorf("%q: one word %t, want %t", value, got, want.oneWord)
		}
		if got := Expands(value); got != want.expands {
			t.Errorf("%q: expands %t, want %t", value, got, want.expands)
		}
	}
}

// TestDeepNesting holds that the parser, which goes as deep as a text nests, does not run out of stack.
func TestDeepNesting(t *testing.T) {
	for _, nests := range []string{"(", "$(", `"$(`, "$((", "{ ", "if ", "`", "${a:-", "! ", "[[ ! "} {
		for _, size := range []int{maxText, 1 << 20} {
			text := strings.Repeat(nests, size/len(nests))
			_, err := Operator(text)
			OneWord(text)
			if size > maxText && err != nil {
				t.Errorf("%q: %v for a text that is too long to be read", nests, err)
			}
		}
	}
}

func FuzzShell(f *testing.F) {
	for _, text := range []string{"a; b", "'a", "$(a", "for x in a; do b; done", "a\\", "<<E\nE"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		operator, err := Operator(text)
		if err != nil && operator != "" {
			t.Errorf("operator %q with error %v", operator, err)
		}
		if Plain(text) && !OneWord(text) {
			t.Error("plain, but not one word")
		}
	})
}
