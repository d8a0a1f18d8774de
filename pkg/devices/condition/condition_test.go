package condition

import (
	"fmt"
	"strings"
	"testing"
)

func input() *Input {
	return &Input{
		Container: "ray-worker", Sidecar: true,
		Limits: map[string]string{"cpu": "8"}, Requests: map[string]string{"cpu": "4"},
		Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"example.com/mode": "soft"},
		Amount: func(field string) int64 { return map[string]int64{"count": 2, "memory": 4096}[field] },
	}
}

// TestHolds: all that a condition can name.
func TestHolds(t *testing.T) {
	for text, want := range map[string]bool{
		`container.name == "ray-worker"`:                                       true,
		`container.init || container.privileged`:                               false,
		`container.sidecar`:                                                    true,
		`container.limits["cpu"] == "8" && container.requests["cpu"] == "4"`:   true,
		`request.count == 2 && request.memory > 4000 && request.cores == 0`:    true,
		`labels["team"] in ["a", "b"]`:                                         true,
		`annotations[?"example.com/mode"].orValue("hard") == "hard"`:           false,
		`annotations[?"example.com/other"].orValue("hard") == "hard"`:          true,
		`"example.com/mode" in annotations`:                                    true,
		`labels.exists(k, k.startsWith("te"))`:                                 true,
		`annotations["example.com/mode"].matches("^so") && labels.size() == 1`: true,
	} {
		c, err := Compile(text, []string{"count", "memory", "cores"})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for range 3 { // a condition keeps nothing
			if got, err := c.Holds(input()); err != nil || got != want {
				t.Errorf("%s: %t %v, want %t", text, got, err, want)
			}
		}
	}
}

// TestRefused: what cannot be compiled, or may take long.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`request.count +`:              "Syntax error",
		`request.count`:                "is of type int, but must be true or false",
		`request.cuont == 1`:           "undeclared reference",
		`request.priority == 1`:        "undeclared reference", // a field that the family does not have
		`container.image == "x"`:       "undeclared reference",
		`dyn(request.count)`:           "must be true or false",
		`now() == "x"`:                 "undeclared reference",
		`labels["a"] == 1`:             "no matching overload",
		strings.Repeat(" ", MaxLength): "",
		`annotations.exists(k, annotations[k].matches("a*b*c*"))`:                           "may cost",
		`labels.all(a, labels.all(b, labels.all(c, a + b + c != "x")))`:                     "may cost",
		`[1,2,3,4,5,6,7,8].all(a, annotations["x"].contains(annotations["y"]))`:             "may cost",
		"true" + strings.Repeat(" && true", MaxLength):                                      "at most 4096",
		fmt.Sprintf("%s[]%s == []", strings.Repeat("[", 600), strings.Repeat("]", 600)):     "",
		`annotations.map(k, annotations.map(l, annotations[l]))[0][0].size() == 1`:          "may cost",
		`labels.map(k, labels.map(l, labels.map(m, labels.map(n, k + l + m + n)))) == [[]]`: "",
	} {
		c, err := Compile(text, []string{"count"})
		if err == nil || c != nil {
			t.Errorf("%.60s was compiled", text)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

// TestNotToBeSaid: what is found at the evaluation only is an error, and no verdict.
func TestNotToBeSaid(t *testing.T) {
	large := input()
	for i := range 30_000 {
		large.Labels[fmt.Sprint("label-", i)] = "x"
	}
	for text, tc := range map[string]struct {
		in   *Input
		want string
	}{
		`labels["none"] == "x"`:                       {input(), "no such key"},
		`request.count / request.cores == 1`:          {input(), "division by zero"},
		`labels.all(k, k != "x" && labels[k] != "y")`: {large, "cost limit exceeded"},
	} {
		c, err := Compile(text, []string{"count", "cores"})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if holds, err := c.Holds(tc.in); err == nil || holds || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %t %v, want %q", text, holds, err, tc.want)
		}
	}
	c, err := Compile("request.count == 0 && labels.size() == 0", []string{"count"})
	if err != nil {
		t.Fatal(err)
	}
	if holds, err := c.Holds(&Input{}); err != nil || !holds {
		t.Errorf("of nothing: %t %v", holds, err)
	}
}

// FuzzCompile: any text is compiled or refused, and what was compiled is evaluated within its cost.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{`request.count == 1`, `labels.exists(k, labels[k] == "x")`, `annotations[?"a"].orValue("b").matches("a+")`, `container.limits.map(k, k + k).size() > 1`} {
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		if c, err := Compile(text, []string{"count"}); err == nil {
			_, _ = c.Holds(input())
		}
	})
}

// BenchmarkHolds is what a condition adds to a plan.
func BenchmarkHolds(b *testing.B) {
	c, err := Compile(`request.count > 1 && annotations[?"example.com/mode"].orValue("") == "soft"`, []string{"count"})
	if err != nil {
		b.Fatal(err)
	}
	in := input()
	b.ReportAllocs()
	for b.Loop() {
		if holds, err := c.Holds(in); err != nil || !holds {
			b.Fatal(holds, err)
		}
	}
}
