// Command crddoc writes docs/kinds.md, the reference of the custom resources, from their CRDs and Go types. Run it from the root of the repository.
package main

import (
	"fmt"
	"os"

	"github.com/raygate/raygate/hack/crddoc/page"
)

func main() {
	text, err := page.Markdown("operator/config/crd/bases")
	if err == nil {
		err = os.WriteFile("docs/kinds.md", text, 0o644)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "writing the reference of the kinds: %v\n", err)
		os.Exit(1)
	}
}
