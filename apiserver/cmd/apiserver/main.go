// Command apiserver is the gateway: gRPC and REST over the ray.io custom resources.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	cmd := newCommand(run)
	cmd.SetArgs(withTwoDashes(os.Args[1:]))
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "raygate-apiserver:", err)
		os.Exit(1)
	}
}
