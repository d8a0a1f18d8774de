// Command raygate checks Ray objects in files, with the rules that the operator and the gateway apply.
package main

import (
	"os"

	"github.com/raygate/raygate/cmd/raygate/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
