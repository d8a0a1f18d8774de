package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// known are the metrics with their labels: those of operator and gateway, as tests of these programs wrote them, and those of Ray, as Ray 2.52
// names them, with the labels of the PodMonitor.
func known(t *testing.T) map[string][]string {
	t.Helper()
	pods := podLabels(t)
	all := map[string][]string{"up": pods}
	for _, file := range []string{"operator.txt", "gateway.txt", "ray.txt"} {
		data, err := os.ReadFile(filepath.Join("metrics", file))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			name, rest, ok := strings.Cut(strings.TrimSpace(line), "{")
			if !ok {
				t.Fatalf("%s: %q is no metric", file, line)
			}
			names, _, _ := strings.Cut(rest, "}") // the help follows
			all[name] = append(all[name], strings.Split(names, ",")...)
			if file == "ray.txt" {
				all[name] = append(all[name], pods...)
			}
		}
	}
	if len(all) < 40 {
		t.Fatalf("%d metrics, want many", len(all))
	}
	return all
}

// podLabels are those that the PodMonitor gives to the series of Ray nodes, with the namespace, which the Prometheus operator adds.
func podLabels(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("podmonitors", "ray.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var monitor struct {
		Spec struct {
			PodMetricsEndpoints []struct {
				Relabelings []struct{ TargetLabel string }
			}
		}
	}
	if err := yaml.Unmarshal(data, &monitor); err != nil || len(monitor.Spec.PodMetricsEndpoints) == 0 {
		t.Fatalf("%v, %+v", err, monitor)
	}
	found := []string{"namespace"}
	for _, r := range monitor.Spec.PodMetricsEndpoints[0].Relabelings {
		found = append(found, r.TargetLabel)
	}
	return found
}

// byPrometheus are labels that each series gets when it is scraped, and that of Prometheus itself.
var byPrometheus = []string{"job", "instance", "pod", "service", "endpoint", "cluster"}

// labelsOf are the labels of a series; a histogram has three for each metric.
func labelsOf(all map[string][]string, series string) ([]string, bool) {
	if found, ok := all[series]; ok {
		return append(slices.Clone(found), byPrometheus...), true
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		base, cut := strings.CutSuffix(series, suffix)
		if found, ok := all[base]; cut && ok && !strings.HasSuffix(base, "_total") {
			if suffix == "_bucket" {
				found = append(slices.Clone(found), "le")
			}
			return append(slices.Clone(found), byPrometheus...), true
		}
	}
	return nil, false
}

// problems says what is wrong with an expression.
func problems(all map[string][]string, expression string) []string {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	parser.Inspect(parsed, func(node parser.Node, path []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			found = append(found, ofSelector(all, n)...)
		case *parser.AggregateExpr:
			for _, label := range n.Grouping {
				if !has(all, n.Expr, label) {
					found = append(found, "no series below has the label "+label+", by which is grouped")
				}
			}
		case *parser.Call:
			if name := n.Func.Name; (name == "rate" || name == "increase") && !isCounter(n.Args[0]) {
				found = append(found, name+" of what is no counter: "+n.Args[0].String())
			}
		}
		return nil
	})
	return found
}

func ofSelector(all map[string][]string, n *parser.VectorSelector) []string {
	names, ok := labelsOf(all, n.Name)
	if !ok {
		return []string{"there is no metric " + n.Name}
	}
	var found []string
	for _, m := range n.LabelMatchers {
		if m.Name != model.MetricNameLabel && !slices.Contains(names, m.Name) {
			found = append(found, n.Name+" has no label "+m.Name)
		}
	}
	return found
}

// has reports whether a series below has the label.
func has(all map[string][]string, expression parser.Expr, label string) bool {
	found := false
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if n, ok := node.(*parser.VectorSelector); ok {
			names, _ := labelsOf(all, n.Name)
			found = found || slices.Contains(names, label)
		}
		return nil
	})
	return found
}

func isCounter(expression parser.Expr) bool {
	ok := true
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if n, is := node.(*parser.VectorSelector); is {
			ok = ok && slices.ContainsFunc([]string{"_total", "_bucket", "_sum", "_count"}, func(s string) bool { return strings.HasSuffix(n.Name, s) })
		}
		return nil
	})
	return ok
}

// legend are the labels that a legend names.
var legend = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

// TestDashboards: each expression can be read, each metric in it exists with its labels, and legends name labels that are left.
func TestDashboards(t *testing.T) {
	all := known(t)
	for _, d := range dashboards {
		for _, v := range d.allVariables() {
			if names, ok := labelsOf(all, v.metric); !ok || !slices.Contains(names, v.label) {
				t.Errorf("%s: variable %s: %s has no such label", d.uid, v.label, v.metric)
			}
		}
		for _, r := range d.rows {
			for _, p := range r.panels {
				for _, q := range p.queries {
					for _, problem := range problems(all, q.expression) {
						t.Errorf("%s, %s: %s: %s", d.uid, p.title, q.expression, problem)
					}
					for _, m := range legend.FindAllStringSubmatch(q.legend, -1) {
						if parsed, err := parser.NewParser(parser.Options{}).ParseExpr(q.expression); err == nil && !has(all, parsed, m[1]) {
							t.Errorf("%s, %s: the legend names %s, which no series has", d.uid, p.title, m[1])
						}
					}
				}
			}
		}
		want, err := d.json()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("dashboards", d.uid+".json"))
		if err != nil || string(got) != string(want) {
			t.Errorf("dashboards/%s.json is not what dashboards.go says (%v); run: cd observability && go run .", d.uid, err)
		}
		if !json.Valid(want) {
			t.Errorf("%s is not JSON", d.uid)
		}
	}
}

// TestProblemsAreFound: the tests above can fail.
func TestProblemsAreFound(t *testing.T) {
	all := map[string][]string{"a_total": {"code"}, "b_seconds": {"verb"}, "c": nil}
	for expression, want := range map[string]int{
		`rate(a_total{code="x"}[5m])`: 0, `sum by (verb) (rate(b_seconds_bucket{le="1"}[5m]))`: 0, `c > 1`: 0,
		`d`: 1, `a_total{cod="x"}`: 1, `sum by (cod) (a_total)`: 1, `rate(c[5m])`: 1, `sum(`: 1, `a_total_count`: 1, `b_seconds_count{le="1"}`: 1,
	} {
		if got := problems(all, expression); len(got) != want {
			t.Errorf("%s: %v, want %d", expression, got, want)
		}
	}
}
