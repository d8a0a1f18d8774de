// Command together starts the control planes that test packages share, runs a command that finds them, and stops them:
//
//	go run ./test/controlplane/together go test ./...
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/raygate/raygate/test/controlplane"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "together:", err)
		code = 1
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	if len(args) == 0 {
		return 0, errors.New("no command given: together COMMAND [ARGUMENT...]")
	}
	variable, stop, err := controlplane.Together()
	if err != nil {
		return 0, err
	}
	defer stop()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), variable)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("starting %s: %w", args[0], err)
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	if err := cmd.Wait(); err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			return max(exit.ExitCode(), 1), nil
		}
		return 0, fmt.Errorf("running %s: %w", args[0], err)
	}
	return 0, nil
}
