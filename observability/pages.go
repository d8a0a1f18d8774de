package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// docs is the folder of the documents. The alerts in observability.md are generated, and so is metrics.md.
var docs = filepath.Join("..", "docs")

// rules are the alerts of a file.
type rules struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

// ruleFiles are the files in rules/.
var ruleFiles = []string{"raygate.yaml", "ray.yaml"}

// readRules reads a file in rules/.
func readRules(name string) (rules, error) {
	var file rules
	data, err := os.ReadFile(filepath.Join("rules", name))
	if err != nil {
		return file, err
	}
	return file, yaml.Unmarshal(data, &file)
}

// writePages writes the generated parts of documents.
func writePages() error {
	path := filepath.Join(docs, "observability.md")
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := withAlerts(string(page))
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	metrics, err := metricsPage()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(docs, "metrics.md"), []byte(metrics), 0o644)
}

// withAlerts returns the page with a section for each alert.
func withAlerts(page string) (string, error) {
	const begin, end = "<!-- alerts: generated -->\n", "<!-- end -->"
	head, rest, found := strings.Cut(page, begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("the page has no place for alerts")
	}
	var b strings.Builder
	for _, name := range ruleFiles {
		file, err := readRules(name)
		if err != nil {
			return "", fmt.Errorf("reading %s: %w", name, err)
		}
		for _, group := range file.Groups {
			for _, r := range group.Rules {
				after := ""
				if r.For != "" {
					after = ", after " + r.For
				}
				fmt.Fprintf(&b, "\n### %s\n\nSeverity `%s`%s. %s\n", r.Alert, r.Labels["severity"], after, r.Annotations["description"])
			}
		}
	}
	return head + begin + b.String() + "\n" + end + tail, nil
}

// metricsPage lists the metrics of operator and gateway with their labels and help.
func metricsPage() (string, error) {
	var b strings.Builder
	b.WriteString("# Metrics\n\nThis page is generated from `observability/metrics`. [Metrics, dashboards and alerts](observability.md) describes scraping. " +
		"Metrics of the Go runtime are left out.\n`--metrics-per-object=false` of the operator turns off series of single objects, which have the label `uid`.\n")
	for _, program := range []string{"operator", "gateway"} {
		data, err := os.ReadFile(filepath.Join("metrics", program+".txt"))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n## Metrics of the %s\n\n| metric | labels | meaning |\n|---|---|---|\n", program)
		for line := range strings.Lines(string(data)) {
			name, rest, _ := strings.Cut(strings.TrimSpace(line), "{")
			names, help, _ := strings.Cut(rest, "} ")
			if names != "" {
				names = "`" + strings.ReplaceAll(names, ",", "`, `") + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, names, strings.ReplaceAll(help, "|", `\|`))
		}
	}
	return b.String(), nil
}
