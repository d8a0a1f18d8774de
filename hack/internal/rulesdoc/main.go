// Command rulesdoc writes docs/validation.md from the table of rules. Run it from the root of the repository.
package main

import (
	"fmt"
	"os"

	"github.com/raygate/raygate/hack/internal/rulesdoc/page"
)

func main() {
	if err := os.WriteFile("docs/validation.md", page.Markdown(), 0o644); err != nil {
		fmt.Fprintf(os.Stderr, "writing the list of rules: %v\n", err)
		os.Exit(1)
	}
}
