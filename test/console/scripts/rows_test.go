package scripts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// columns are those of a list: of texts, of numbers, and one that filters leave out.
const columns = `var columns = [{id: 'name', value: (o) => o.metadata.name}, {id: 'state', value: (o) => o.state}, {id: 'workers', value: (o) => o.workers},
	{id: 'version', value: (o) => o.version ?? ''}, {id: 'age', hidden: true, value: (o) => -o.created}]; var names = (all) => all.map((o) => o.metadata.namespace + '/' + o.metadata.name)`

func row(namespace, name, state string, workers int, version string, created int) object {
	return object{"metadata": object{"namespace": namespace, "name": name}, "state": state, "workers": workers, "version": version, "created": created}
}

var rows = []object{
	row("b", "train-b", "Ready", 10, "2.52.0", 100), row("a", "train-a", "Failing", 9, "2.10.0", 300), row("a", "serve", "Head not ready", 0, "2.52.0", 200), row("a", "train-b", "Suspended", 0, "", 400),
}

func TestFilterOfLists(t *testing.T) {
	s := scriptOf(t, "../lib/rows")
	for filter, want := range map[string][]any{
		"":                    {"b/train-b", "a/train-a", "a/serve", "a/train-b"},
		"  ":                  {"b/train-b", "a/train-a", "a/serve", "a/train-b"},
		"train":               {"b/train-b", "a/train-a", "a/train-b"},
		"TRAIN ready":         {"b/train-b"},
		"ready":               {"b/train-b", "a/serve"},
		"state:ready":         {"b/train-b", "a/serve"},
		"state:ready !head":   {"b/train-b"},
		"!state:ready":        {"a/train-a", "a/train-b"},
		"!train":              {"a/serve"},
		"name:ready":          {},
		"workers:9":           {"a/train-a"},
		"9":                   {"a/train-a"},
		"version:2.52":        {"b/train-b", "a/serve"},
		"state:":              {"b/train-b", "a/train-a", "a/serve", "a/train-b"}, // while one types
		"!":                   {"b/train-b", "a/train-a", "a/serve", "a/train-b"},
		"no:column":           {},
		":":                   {},
		"-300":                {},            // of a column that is not a text
		"age:-300":            {"a/train-a"}, // but it can be asked for
		"constructor:x":       {},            // no column
		"state:ready name:se": {"a/serve"},   // all words
		`\d .* ( [`:           {},            // no pattern
		"train !9 !suspended": {"b/train-b"}, // several are left out
		"ready\tserve":        {"a/serve"},   // any space
		"!workers:0":          {"a/train-a"}, // 10 has a 0 in it
	} {
		got := s.get("names(rows.filter(matcher(filter, columns)))", object{"filter": filter, "rows": rows}, columns)
		if diff := cmp.Diff(any(want), got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", filter, diff)
		}
	}
}

func TestOrderOfLists(t *testing.T) {
	s := scriptOf(t, "../lib/rows")
	for order, want := range map[string][]any{
		"name":     {"a/serve", "a/train-a", "a/train-b", "b/train-b"}, // the namespace decides last
		"-name":    {"a/train-b", "b/train-b", "a/train-a", "a/serve"},
		"workers":  {"a/serve", "a/train-b", "a/train-a", "b/train-b"},
		"-workers": {"b/train-b", "a/train-a", "a/serve", "a/train-b"}, // equal ones still from a to z
		"version":  {"a/train-b", "a/train-a", "a/serve", "b/train-b"},
		"age":      {"a/train-b", "a/train-a", "a/serve", "b/train-b"}, // the youngest first
		"-age":     {"b/train-b", "a/serve", "a/train-a", "a/train-b"},
		"":         {"a/serve", "a/train-a", "a/train-b", "b/train-b"},
		"nonsense": {"a/serve", "a/train-a", "a/train-b", "b/train-b"}, // of a link of an older version
	} {
		before := s.get("names(rows)", object{"rows": rows}, columns)
		got := s.get("names(sorted(rows, order, columns))", object{"order": order, "rows": rows}, columns)
		if diff := cmp.Diff(any(want), got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", order, diff)
		}
		if diff := cmp.Diff(before, s.get("names(rows)", nil)); diff != "" {
			t.Errorf("%q changes what it sorts:\n%s", order, diff)
		}
	}
}
