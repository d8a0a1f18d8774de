// Package verb has the commands that call a gateway, one file each.
package verb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
	"github.com/raygate/raygate/cmd/raygate/internal/progress"
)

// Exit codes.
const (
	// ExitFailed: the gateway refused, failed, or could not be reached.
	ExitFailed = 1
	// ExitUsage: wrong use, or input that cannot be read.
	ExitUsage = 2
	// ExitTimeout means that a wait timed out.
	ExitTimeout = 3
	// ExitNever means that the state of a wait can no longer be reached.
	ExitNever = 4
)

// Failed is an error that has been printed, with the exit code that it means.
type Failed struct{ Code int }

// Error implements error.
func (f *Failed) Error() string { return fmt.Sprintf("failed with exit code %d", f.Code) }

// All returns the commands.
func All(getenv func(string) string) []*cobra.Command {
	flags := &connect.Flags{Getenv: getenv}
	var all []*cobra.Command
	for _, command := range []func(*connect.Flags) *cobra.Command{
		newGet, newWatch, newCreate, newApply, newDelete, newWait, newDiagnose, newScale, newSuspend, newResume, newKeep, newStop, newTrigger,
		newLogs, newSubmit, newRerun, newProfiles, newSession, newTop, newHistory, newUsage, newLogin, newLogout, newCredential,
	} {
		cmd := command(flags)
		flags.Add(cmd.Flags())
		completeFlags(cmd, flags)
		all = append(all, cmd)
	}
	return all
}

// session is one run of a command.
type session struct {
	cmd       *cobra.Command
	flags     *connect.Flags
	client    *raygate.Client
	namespace string
	in        io.Reader
	out, err  io.Writer
	progress  *progress.Reporter
	failed    int
}

// run adapts a function with a session to the function of a command.
func run(flags *connect.Flags, do func(ctx context.Context, s *session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s := &session{cmd: cmd, flags: flags, in: cmd.InOrStdin(), out: cmd.OutOrStdout(), err: cmd.ErrOrStderr(), progress: progress.New(cmd.ErrOrStderr())}
		var err error
		if s.namespace, err = flags.NamespaceOrDefault(); err != nil {
			return err
		}
		if s.client, err = flags.Dial(func(text string) { s.progress.Note("Warning: " + output.Clean(text)) }); err != nil {
			return err
		}
		defer func() { _ = s.client.Close() }()
		err = do(cmd.Context(), s, args)
		s.progress.Clear()
		if errors.Is(err, context.Canceled) && cmd.Context().Err() != nil {
			return &Failed{Code: exitInterrupted}
		}
		if err == nil && s.failed > 0 {
			return &Failed{Code: s.failed}
		}
		return err
	}
}

// bounded limits a call that neither waits nor watches.
func (s *session) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.flags.RequestTimeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, s.flags.RequestTimeout)
}

// of returns the objects of a kind in the namespace that is meant.
func (s *session) of(k *kind.Kind) *raygate.Messages { return s.client.Messages(k.Kind, s.namespace) }

// fail prints the error of a call and lets the command continue; the command then ends with the highest exit code.
func (s *session) fail(about string, err error, code int) {
	s.progress.Clear()
	hint := ""
	if raygate.ProblemOf(err).Reason == "UNAUTHENTICATED" {
		hint = s.flags.WhyNoToken()
	}
	output.Problem(s.err, about, err, hint)
	s.failed = max(s.failed, code)
}

// target is an object in a namespace. The uid is empty if it is unknown.
type target struct {
	kind.Ref
	namespace, uid string
}

// namedOne reads TYPE/NAME, or NAME alone for an object of a type.
func namedOne(typeName, arg string) (kind.Ref, error) {
	if !strings.Contains(arg, "/") {
		arg = typeName + "/" + arg
	}
	refs, err := kind.ParseRefs([]string{arg})
	if err != nil {
		return kind.Ref{}, err
	}
	return refs[0], nil
}

// named refuses refs without a name.
func named(args []string) ([]kind.Ref, error) {
	refs, err := kind.ParseRefs(args)
	if err != nil {
		return nil, err
	}
	for _, r := range refs {
		if r.Name == "" {
			return nil, fmt.Errorf("name the object, as in %s/demo", r.Kind.Singular)
		}
	}
	return refs, nil
}
