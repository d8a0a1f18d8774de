package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/raygate/raygate/cmd/raygate/internal/connect"
)

// TestReference holds the commands in docs/cli.md to the program; -update, as hack/generate.sh runs it, writes them.
func TestReference(t *testing.T) {
	const begin, end = "<!-- commands: generated -->\n", "<!-- end -->"
	path := filepath.Join("..", "..", "..", "..", "docs", "cli.md")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(before), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the commands", path)
	}
	text := head + begin + reference() + end + tail
	switch {
	case text == string(before):
	case *update:
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("docs/cli.md is not what the program says; run: go test ./cmd/raygate/internal/cli -run TestReference -update")
	}
}

// reference describes every command, and the flags that those for a gateway share once.
func reference() string {
	var b strings.Builder
	root := newRoot("raygate")
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&connect.Flags{}).Add(shared)
	for _, cmd := range runnable(root) {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", cmd.CommandPath(), paragraph(cmd))
		fmt.Fprintf(&b, "    %s\n\n", cmd.UseLine())
		if cmd.Example != "" {
			fmt.Fprintf(&b, "Examples:\n\n%s\n\n", indented(cmd.Example))
		}
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if shared.Lookup(f.Name) == nil && f.Name != "help" {
				own.AddFlag(f)
			}
		})
		writeFlags(&b, own)
		if cmd.GroupID == "gateway" {
			b.WriteString("And the [flags for the gateway](#flags-for-the-gateway).\n\n")
		}
	}
	b.WriteString("### Flags for the gateway\n\n")
	writeFlags(&b, shared)
	return b.String()
}

// runnable are the commands that do something, at whatever depth.
func runnable(parent *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, cmd := range parent.Commands() {
		if !cmd.IsAvailableCommand() || cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		if cmd.HasSubCommands() {
			all = append(all, runnable(cmd)...)
			continue
		}
		all = append(all, cmd)
	}
	return all
}

func paragraph(cmd *cobra.Command) string {
	if cmd.Long == "" {
		return cmd.Short + "."
	}
	return cmd.Long
}

// indented makes a block of code of an example, which cobra wants indented by two.
func indented(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimPrefix(line, "  "); line != "" {
			line = "    " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	var rows []string
	flags.VisitAll(func(f *pflag.Flag) {
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		text := strings.ReplaceAll(f.Usage, "|", `\|`)
		if !slices.Contains([]string{"", "false", "[]", "0", "none"}, f.DefValue) {
			text += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		rows = append(rows, fmt.Sprintf("| %s | %s |", name, text))
	})
	if len(rows) > 0 {
		fmt.Fprintf(b, "| flag | |\n|---|---|\n%s\n\n", strings.Join(rows, "\n"))
	}
}

// The version of Ray that users get by default, and from samples, is the one that the tests with real Ray run.
func TestDefaultRayVersion(t *testing.T) {
	read := func(file string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	tested := strings.TrimSpace(read("hack/ray-image/VERSION"))
	for file, text := range map[string]string{
		"docs/cli.md":                    "version of Ray of the new cluster (default " + tested + ")",
		"docs/support.md":                "| " + tested + " | `make test-ray`",
		"charts/ray-cluster/values.yaml": "  tag: " + tested + "\n",
		"apiserver/internal/console/web/pages/submit.js":    "version: '" + tested + "'",
		"apiserver/internal/console/web/parts/templates.js": "rayVersion = '" + tested + "'",
	} {
		if !strings.Contains(read(file), text) {
			t.Errorf("%s does not contain %q", file, text)
		}
	}
	samples, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "samples", "*.yaml"))
	if err != nil || len(samples) < 20 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for _, sample := range samples {
		if text := read("samples/" + filepath.Base(sample)); strings.Count(text, "rayVersion: ") != strings.Count(text, "rayVersion: "+tested) {
			t.Errorf("%s is not for Ray %s", sample, tested)
		}
	}
}
