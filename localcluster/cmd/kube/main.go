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

// program returns the name of the program to run and its arguments, the name first. The name comes from the link through which the
// process was started. A process started as "kube" takes the name from its first argument.
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
