package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// eventReason is how reasons of events, and nothing else that stands in quotation marks, begin.
var eventReason = regexp.MustCompile(`"((?:Created|Updated|Deleted|FailedTo|Invalid|MTLS|Redis|ForceDeleted|NetworkPolicyName|Autoscaler|Adopted|AuthSecret|AuthToken|Uneven|History|RayServiceInitializing|Rollback)[A-Z][A-Za-z]*)"`)

// manyKinds are reasons that are put together from an operation and a kind. The tables have one row for all or some of them.
var manyKinds = regexp.MustCompile(`^(Created|Updated|Deleted|FailedToCreate|FailedToUpdate|FailedToDelete)(Service|Ingress|Route|ServiceAccount|Role|RoleBinding|Secret|NetworkPolicy|PVC|RayCluster|RayJobSubmitter|Gateway|HTTPRoute|GRPCRoute)$`)

// eventPages are the documents with a table of events, and the folders below operator/internal whose events they list.
var eventPages = map[string][]string{
	"raycluster.md": {"controller/raycluster", "controller/mtls", "podexec"},
	"rayjob.md":     {"controller/rayjob", "controller/raycronjob"},
	"rayservice.md": {"controller/rayservice"},
}

// eventObject are the constants of which package children makes reasons.
var eventObject = regexp.MustCompile(`\bwhat[A-Z]\w*\s+= "([A-Z][A-Za-z]+)"`)

// TestEventsAreDocumented holds the tables of events to the controllers, both ways.
func TestEventsAreDocumented(t *testing.T) {
	for page, folders := range eventPages {
		t.Run(page, func(t *testing.T) { eventsAreDocumented(t, page, folders) })
	}
}

func eventsAreDocumented(t *testing.T, name string, folders []string) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Events\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var files []string
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join("..", "..", "internal", filepath.FromSlash(folder), "*.go"))
		if err != nil || len(found) == 0 {
			t.Fatalf("%d files, %v", len(found), err)
		}
		files = append(files, found...)
	}
	sent := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range eventObject.FindAllStringSubmatch(string(text), -1) {
			for _, did := range []string{"FailedToCreate", "FailedToUpdate", "FailedToDelete"} {
				sent[did+m[1]] = true
			}
		}
		for _, m := range eventReason.FindAllStringSubmatchIndex(string(text), -1) {
			reason := string(text[m[2]:m[3]])
			if strings.HasPrefix(string(text[m[1]:]), " + ") {
				continue // a kind follows
			}
			sent[reason] = true
			if !manyKinds.MatchString(reason) && !strings.Contains(table, "`"+reason+"`") {
				t.Errorf("%s sends %s, which docs/%s does not list", file, reason, name)
			}
		}
	}
	quoted := regexp.MustCompile("`([A-Z][A-Za-z]+)`")
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			reason := m[1]
			if eventReason.MatchString(`"`+reason+`"`) && !strings.HasSuffix(reason, "X") && !manyKinds.MatchString(reason) && !sent[reason] {
				t.Errorf("docs/%s lists %s, which nobody sends", name, reason)
			}
		}
	}
}
