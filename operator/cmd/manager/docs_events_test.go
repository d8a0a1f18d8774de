package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// eventReason is how reasons of events, and nothing else that stands in quotation marks, begin.
var eventReason = regexp.MustCompile(`"((?:Created|Updated|Deleted|FailedTo|Invalid|MTLS|Redis|ForceDeleted|NetworkPolicyName|Autoscaler|Adopted|AuthSecret|AuthToken|Uneven)[A-Z][A-Za-z]*)"`)

// manyKinds are reasons that docs/raycluster.md has one row for, whatever the kind of the object.
var manyKinds = regexp.MustCompile(`^(Created|Updated|Deleted|FailedToCreate|FailedToUpdate|FailedToDelete)(Service|Ingress|Route|ServiceAccount|Role|RoleBinding|Secret|NetworkPolicy)$`)

// composed are reasons that the controller of RayClusters puts together from what became of a child and its kind, and beginnings
// of such reasons.
var composed = regexp.MustCompile(`^(FailedToCreate|CreatedPVC)$`)

// TestEventsAreDocumented holds the table of events in docs/raycluster.md to the controllers, both ways.
func TestEventsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "raycluster.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Events\n")
	table, _, _ = strings.Cut(table, "\n## ")
	files, err := filepath.Glob(filepath.Join("..", "..", "internal", "controller", "*", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	execution, err := filepath.Glob(filepath.Join("..", "..", "internal", "podexec", "*.go"))
	if err != nil || len(execution) == 0 {
		t.Fatalf("%d files that carry out plans, %v", len(execution), err)
	}
	files = append(files, execution...)
	sent := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range eventReason.FindAllStringSubmatch(string(text), -1) {
			sent[m[1]] = true
			if !composed.MatchString(m[1]) && !manyKinds.MatchString(m[1]) && !strings.Contains(table, "`"+m[1]+"`") {
				t.Errorf("%s sends %s, which docs/raycluster.md does not list", file, m[1])
			}
		}
	}
	quoted := regexp.MustCompile("`([A-Z][A-Za-z]+)`")
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			if reason := m[1]; eventReason.MatchString(`"`+reason+`"`) && !strings.HasSuffix(reason, "X") && !composed.MatchString(reason) && !sent[reason] {
				t.Errorf("docs/raycluster.md lists %s, which nobody sends", reason)
			}
		}
	}
}
