// Command site makes a site of HTML from README.md and docs/, without a network and without anything but Go. It is a module of its own, so that the
// renderer is no dependency of raygate.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", "../..", "the repository")
	out := flag.String("out", "../../bin/docs", "where to write; what is there is replaced")
	flag.Parse()
	s, err := load(*root)
	if err == nil {
		err = s.write(*out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stdout, "%d pages in %s; begin with index.html\n", len(s.pages), *out)
}
