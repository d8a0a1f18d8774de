// Command manager is the operator: it reconciles the objects of the API group ray.io.
package main

import (
	"fmt"
	"io"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	ctx := ctrl.SetupSignalHandler()
	if err := newCommand(run).ExecuteContext(ctx); err != nil {
		printError(os.Stderr, err)
		os.Exit(1)
	}
}

// printError prints each of several problems on its own line.
func printError(w io.Writer, err error) {
	all := problems(err)
	if len(all) == 1 {
		fmt.Fprintln(w, "Error:", all[0])
		return
	}
	fmt.Fprintf(w, "Error: %d settings are wrong:\n", len(all))
	for _, e := range all {
		fmt.Fprintln(w, "  -", e)
	}
}

// problems splits joined errors.
func problems(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) // a wrapped join keeps its prefix
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, problems(e)...)
	}
	return all
}
