package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// inText are the labels that the text of an alert names.
var inText = regexp.MustCompile(`\$labels\.(\w+)`)

// jobs are the selectors of which each expression of an alert has one.
var jobs = []string{`job=~"raygate-operator(-metrics)?"`, `job=~"raygate-apiserver(-metrics)?"`, `job="ray"`}

// withoutJob returns the selectors that match series of other programs.
func withoutJob(expression parser.Expr) []string {
	var found []string
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		n, is := node.(*parser.VectorSelector)
		if is && !slices.ContainsFunc(n.LabelMatchers, func(m *labels.Matcher) bool { return slices.Contains(jobs, m.String()) }) {
			found = append(found, n.String())
		}
		return nil
	})
	return found
}

// allRules returns the alerts of all files.
func allRules(t *testing.T) rules {
	t.Helper()
	var all rules
	for _, name := range ruleFiles {
		file, err := readRules(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Groups = append(all.Groups, file.Groups...)
	}
	return all
}

// TestPages holds the generated documents to the alerts and metrics.
func TestPages(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(docs, "observability.md"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := withAlerts(string(page))
	if err != nil || want != string(page) {
		t.Errorf("docs/observability.md is not what the rules say (%v); run: go run .", err)
	}
	metrics, err := os.ReadFile(filepath.Join(docs, "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want, err := metricsPage(); err != nil || want != string(metrics) {
		t.Errorf("docs/metrics.md is not what the metrics say (%v); run: go run .", err)
	}
}

// TestRules: each alert can be read, its metrics exist with their labels, series of other programs do not count, and its link leads to its
// section of docs/observability.md.
func TestRules(t *testing.T) {
	all := known(t)
	alerts := map[string]bool{}
	for _, g := range allRules(t).Groups {
		for _, r := range g.Rules {
			if alerts[r.Alert] {
				t.Errorf("%s is there twice", r.Alert)
			}
			alerts[r.Alert] = true
			for _, problem := range problems(all, r.Expr) {
				t.Errorf("%s: %s", r.Alert, problem)
			}
			parsed, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
			if err != nil {
				continue // a problem above
			}
			for _, selector := range withoutJob(parsed) {
				t.Errorf("%s: %s matches series of other programs", r.Alert, selector)
			}
			for _, m := range inText.FindAllStringSubmatch(r.Annotations["summary"], -1) {
				if !has(all, parsed, m[1]) {
					t.Errorf("%s: the summary names the label %s, which no series has", r.Alert, m[1])
				}
			}
			if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s lacks a severity, a summary or a description", r.Alert)
			}
			if want := "https://github.com/raygate/raygate/blob/main/docs/observability.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("%s: runbook_url is %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
		}
	}
	if len(alerts) < 15 {
		t.Errorf("%d alerts, want many", len(alerts))
	}
}

// TestPromtool runs the tests in rules/tests by Prometheus' own promtool. They mix series of other programs with those of raygate.
func TestPromtool(t *testing.T) {
	// The tests leave out descriptions, which have no labels.
	folder := filepath.Join(t.TempDir(), "rules")
	if err := os.CopyFS(folder, os.DirFS("rules")); err != nil {
		t.Fatal(err)
	}
	description := regexp.MustCompile(`(?m)^ +description: .*\n`)
	for _, name := range ruleFiles {
		data, err := os.ReadFile(filepath.Join("rules", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), description.ReplaceAll(data, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "tests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("tests %v, %v", files, err)
	}
	// Built without the discovery of clouds, which is most of promtool and has no part in tests of rules. `go tool` takes no tags.
	promtool := filepath.Join(t.TempDir(), "promtool")
	run := func(name string, args ...string) {
		if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v:\n%s", name, err, out)
		}
	}
	run("go", "build", "-tags=remove_all_sd", "-o", promtool, "github.com/prometheus/prometheus/cmd/promtool")
	run(promtool, append([]string{"test", "rules"}, files...)...)
}

// TestEachAlertIsTested: each alert fires in one test of promtool, and is silent in another.
func TestEachAlertIsTested(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("rules", "tests", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Tests []struct {
				AlertRuleTest []struct {
					Alertname string
					ExpAlerts []any `json:"exp_alerts"`
				} `json:"alert_rule_test"`
			}
		}
		if err := yaml.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		for _, test := range file.Tests {
			for _, a := range test.AlertRuleTest {
				fires[a.Alertname] = fires[a.Alertname] || len(a.ExpAlerts) > 0
				silent[a.Alertname] = silent[a.Alertname] || len(a.ExpAlerts) == 0
			}
		}
	}
	alerts := map[string]bool{}
	for _, g := range allRules(t).Groups {
		for _, r := range g.Rules {
			alerts[r.Alert] = true
			if !fires[r.Alert] || !silent[r.Alert] {
				t.Errorf("%s: fires in a test: %t, is silent in another: %t", r.Alert, fires[r.Alert], silent[r.Alert])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fires)) {
		if !alerts[name] {
			t.Errorf("a test is about %s, which is no alert", name)
		}
	}
}
