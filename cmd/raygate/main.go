// Command raygate works with Ray objects through the gateway, and checks them in files with the rules that operator and gateway apply.
package main

import (
	"os"

	"github.com/raygate/raygate/cmd/raygate/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
