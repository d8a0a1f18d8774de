package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// version is the version of the simulated Ray.
const version = "2.55.0"

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	os.Exit(run(ctx, os.Args, environment()))
}

// env contains the values from the environment.
type env struct {
	address string            // overrides --address when not empty
	headers map[string]string // added to every request
	token   string
	proxy   string
	path    []string
	errs    error
}

// exitError ends the program with this exit code; the error has been printed already.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func run(ctx context.Context, argv []string, e env) int {
	if name := filepath.Base(argv[0]); strings.HasPrefix(name, "python") {
		return python(ctx, name, argv[1:], e)
	}
	root := rootCommand(e)
	root.SetArgs(argv[1:])
	err := root.ExecuteContext(ctx)
	var code exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintln(os.Stderr, "Error:", err)
	if errors.Is(err, errUsage) {
		return 2
	}
	return 1
}

var errUsage = errors.New("usage")

func rootCommand(e env) *cobra.Command {
	root := &cobra.Command{
		Use: "ray", Short: "A stand-in for Ray's command line that knows jobs only", Version: version,
		SilenceUsage: true, SilenceErrors: true,
	}
	root.SetVersionTemplate("ray, version {{.Version}} (simulated)\n")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w: %w", errUsage, err) })
	job := &cobra.Command{Use: "job", Short: "Submit, stop, delete or list Ray jobs"}
	job.AddCommand(submitCommand(e), statusCommand(e), logsCommand(e), stopCommand(e), listCommand(e), deleteCommand(e))
	root.AddCommand(job)
	return root
}
