package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// flagsBegin and flagsEnd are around the table of flags in docs/gateway-flags.md.
const flagsBegin, flagsEnd = "<!-- flags: generated -->\n", "<!-- end -->"

// TestFlagReference holds the table of flags in docs/gateway-flags.md to the program.
func TestFlagReference(t *testing.T) {
	const path = "../../../docs/gateway-flags.md"
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(before), flagsBegin)
	_, tail, ok2 := strings.Cut(rest, flagsEnd)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the flags", path)
	}
	text := head + flagsBegin + flagTable() + flagsEnd + tail
	switch {
	case text == string(before):
	case *update:
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what the program says; run: go test ./apiserver/cmd/apiserver -run TestFlagReference -update", path)
	}
}

func flagTable() string {
	var b strings.Builder
	b.WriteString("| Flag | Default | Effect |\n|---|---|---|\n")
	newCommand(nil).Flags().VisitAll(func(f *pflag.Flag) {
		value := ""
		if f.DefValue != "" && f.DefValue != "[]" {
			value = "`" + f.DefValue + "`"
		}
		usage := cmp.Or(f.Usage, f.Deprecated)
		if f.Deprecated != "" && f.Usage != "" {
			usage += " Deprecated: " + f.Deprecated
		}
		usage = strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;").Replace(usage)
		fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", f.Name, value, usage)
	})
	return b.String()
}
