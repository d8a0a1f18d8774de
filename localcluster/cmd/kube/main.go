package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	name, args := program(os.Args)
	run, ok := programs[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "%s: unknown program %q; call this through a link named like one of: %s\n", os.Args[0], name, strings.Join(names(), ", "))
		os.Exit(2)
	}
	os.Exit(run(args))
}

// program tells which of the programs is wanted and the arguments it gets,
// its own name first. The name is that of the link the process was started
// through; a process started as "kube" names the program in its first argument.
func program(argv []string) (string, []string) {
	if len(argv) == 0 {
		return "", nil
	}
	name := filepath.Base(argv[0])
	if _, ok := programs[name]; !ok && len(argv) > 1 {
		return argv[1], argv[1:]
	}
	return name, argv
}

func names() []string {
	var out []string
	for name := range programs {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
