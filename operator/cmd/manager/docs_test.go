package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/component-base/featuregate"

	"github.com/raygate/raygate/operator/internal/config"
	"github.com/raygate/raygate/operator/internal/features"
	"github.com/raygate/raygate/operator/internal/gang/registry"
)

var update = flag.Bool("update", false, "write the generated parts of docs/operator.md and of the chart")

// TestDocumentation holds the tables of docs/operator.md, and the names of batch schedulers in the schema of the chart, to the program.
func TestDocumentation(t *testing.T) {
	written(t, "docs/operator.md", func(text string) string {
		for name, lines := range map[string][]string{
			"flags": flagTable(), "old flags": oldFlagTable(), "fields": fieldTable(), "environment": environmentTable(), "gates": gateTable(),
		} {
			text = replaceBlock(t, text, name, lines)
		}
		return text
	})
	written(t, "charts/raygate/values.schema.json", func(text string) string {
		names := `""`
		for _, name := range registry.Names() {
			names += fmt.Sprintf(",\n            %q", name)
		}
		return regexp.MustCompile(`(?s)("batchScheduler": .*?"enum": \[\s*)[^\]]*?(\s*\])`).ReplaceAllString(text, "${1}"+names+"${2}")
	})
}

// written compares a file with what text returns for it, and writes it with -update.
func written(t *testing.T, file string, text func(string) string) {
	t.Helper()
	path := filepath.Join("..", "..", "..", filepath.FromSlash(file))
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch after := text(string(before)); {
	case after == string(before):
	case *update:
		if err := os.WriteFile(path, []byte(after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what the program says; run: go test ./operator/cmd/manager -run TestDocumentation -update", file)
	}
}

func replaceBlock(t *testing.T, text, name string, lines []string) string {
	t.Helper()
	const end = "<!-- end -->"
	head, rest, ok1 := strings.Cut(text, "<!-- "+name+": generated -->\n")
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("docs/operator.md has no block for %s", name)
	}
	return head + "<!-- " + name + ": generated -->\n" + strings.Join(lines, "\n") + "\n" + end + tail
}

// flagFields are the fields of the file by the flags that they are the settings of.
func flagFields() map[string]string {
	o := NewOptions()
	o.AddFlags(pflag.NewFlagSet("", pflag.ContinueOnError))
	c := &config.Configuration{}
	v := reflect.ValueOf(c).Elem()
	for _, field := range v.Fields() {
		if field.Kind() == reflect.Pointer {
			set := reflect.New(field.Type().Elem())
			switch set.Elem().Kind() { // anything but zero
			case reflect.Int:
				set.Elem().SetInt(1)
			case reflect.String:
				set.Elem().SetString("x")
			}
			field.Set(set)
		}
	}
	o.merge(c)
	o.fromFile["feature-gates"] = "featureGates"
	return o.fromFile
}

func allFlags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	NewOptions().AddFlags(fs)
	return fs
}

func flagTable() []string {
	fields := flagFields()
	old := map[string]string{}
	for name, now := range oldNames {
		old[now] = name
	}
	lines := []string{"| Flag | Old name | In the file | Default | Effect |", "|---|---|---|---|---|"}
	allFlags().VisitAll(func(f *pflag.Flag) {
		if f.Deprecated != "" || strings.HasPrefix(f.Usage, "[Alpha] ") { // those of Kubernetes' own logging
			return
		}
		usage, _, _ := strings.Cut(f.Usage, "\n") // the gates have a table of their own
		usage = strings.TrimSuffix(usage, " Known:")
		usage, _, _ = strings.Cut(usage, " (Old name:")
		lines = append(lines, row("`--"+f.Name+"`", code(old[f.Name], "--"), code(fields[f.Name], ""), code(f.DefValue, ""), usage))
	})
	return lines
}

func oldFlagTable() []string {
	fields := flagFields()
	lines := []string{"| Flag | In the file | Note |", "|---|---|---|"}
	allFlags().VisitAll(func(f *pflag.Flag) {
		if f.Deprecated != "" {
			lines = append(lines, row("`--"+f.Name+"`", code(fields[f.Name], ""), f.Deprecated))
		}
	})
	return lines
}

// fileOnly is what the fields do that no flag sets.
var fileOnly = map[string]string{
	"headSidecarContainers":        "containers to add to each head Pod",
	"workerSidecarContainers":      "containers to add to each worker Pod",
	"defaultContainerEnvs":         "environment variables of Ray containers; a variable in the spec wins",
	"defaultPodAnnotations":        "annotations of Pods; an annotation in the spec wins",
	"defaultPodLabels":             "labels of Pods; a label in the spec wins",
	"clusterExpiry":                "[defaults and bounds for idle and old clusters](raycluster.md#idle-and-old-clusters), by namespace",
	"deleteRayJobAfterJobFinishes": "delete the RayJob after it has ended and its cluster is deleted",
}

func fieldTable() []string {
	flags := map[string]bool{"apiVersion": true, "kind": true}
	for _, field := range flagFields() {
		flags[field] = true
	}
	lines := []string{"| Field | Effect |", "|---|---|"}
	t := reflect.TypeFor[config.Configuration]()
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !flags[name] {
			lines = append(lines, row("`"+name+"`", cmp.Or(fileOnly[name], "MISSING")))
		}
	}
	return lines
}

func environmentTable() []string {
	lines := []string{"| Variable | Unset | Effect |", "|---|---|---|"}
	for _, v := range variables {
		lines = append(lines, row("`"+v.name+"`", v.unset, v.effect))
	}
	return lines
}

func gateTable() []string {
	g := features.New()
	all := g.GetAll()
	lines := []string{"| Gate | Stage | Default | Effect |", "|---|---|---|---|"}
	for _, name := range features.Names(g) {
		f := featuregate.Feature(name)
		if effect := features.Effect(f); effect != "" {
			lines = append(lines, row("`"+name+"`", strings.ToLower(string(all[f].PreRelease)), onOff(all[f].Default), effect))
		}
	}
	return lines
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |" }

func code(text, prefix string) string {
	if text == "" {
		return ""
	}
	return "`" + prefix + text + "`"
}

// TestDocumentedFile: what the page shows can be used.
func TestDocumentedFile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "operator.md"))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "```")
	tested := 0
	for i := 1; i < len(parts); i += 2 {
		if example, ok := strings.CutPrefix(parts[i], "yaml\n"); ok {
			tested++
			c, err := config.Decode([]byte(example))
			if err != nil {
				t.Fatalf("%v in\n%s", err, example)
			}
			if problems := c.Validate(); len(problems) > 0 {
				t.Errorf("%v in\n%s", problems, example)
			}
		}
	}
	if tested != 1 {
		t.Errorf("found %d examples, want 1", tested)
	}
}

// TestEverythingIsDocumented: no variable is read, no gate known and no field of the file taken that is not documented.
func TestEverythingIsDocumented(t *testing.T) {
	described := map[string]bool{}
	for _, v := range variables {
		described[v.name] = true
	}
	read := map[string]bool{}
	o, err := parse(t, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	env := &environment{get: func(name string) string { read[name] = true; return "" }}
	o.completeFromEnvironment(env)
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if !described[name] {
			t.Errorf("environment variable %s is not documented", name)
		}
		delete(described, name)
	}
	if len(described) > 0 {
		t.Errorf("documented, but never read: %v", described)
	}
	if text := fmt.Sprint(fieldTable()); strings.Contains(text, "MISSING") {
		t.Errorf("a field has no description: %s", text)
	}
	for _, name := range features.Names(features.New()) {
		if features.Effect(featuregate.Feature(name)) == "" && name != "AllAlpha" && name != "AllBeta" {
			t.Errorf("feature gate %s has no description", name)
		}
	}
}
