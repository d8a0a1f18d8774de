package verb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
)

// waitLimit bounds how long a command waits.
type waitLimit struct{ timeout time.Duration }

func (l *waitLimit) add(fs *pflag.FlagSet) {
	fs.DurationVar(&l.timeout, "timeout", 10*time.Minute, "time to wait; 0: no limit")
}

func (l *waitLimit) check() error {
	if l.timeout < 0 {
		return errors.New("--timeout must not be negative")
	}
	return nil
}

type waitCommand struct {
	state string
	limit waitLimit
}

func newWait(flags *connect.Flags) *cobra.Command {
	c := &waitCommand{}
	cmd := &cobra.Command{
		Use:   "wait (TYPE NAME... | TYPE/NAME...)",
		Short: "Wait until objects are in a state",
		Long: `Wait until objects are in a state, and show their progress. If that fails, show the
diagnosis, like the command diagnose.

States are ready, suspended, deleted, condition=TYPE[=STATUS], and for jobs complete.
The default is complete for a job, and ready for a cluster or a service. A service is
ready when it serves requests, also during an upgrade. To wait for the end of an upgrade,
use condition=UpgradeInProgress=False.

Exit code: 0 reached, 3 timeout, 4 the state cannot be reached any more (for example, the
job failed), 1 any other failure.`,
		Example: `  raygate wait raycluster/demo
  raygate wait job train --timeout 2h
  raygate wait rayservice/chat --for condition=UpgradeInProgress=False`,
		RunE: run(flags, c.run),
	}
	cmd.Flags().StringVar(&c.state, "for", "", "state to wait for (default ready, for jobs complete)")
	c.limit.add(cmd.Flags())
	cmd.ValidArgsFunction = completeObjects(flags, true)
	return cmd
}

func (c *waitCommand) run(ctx context.Context, s *session, args []string) error {
	refs, err := named(args)
	if err != nil {
		return err
	}
	if err := c.limit.check(); err != nil {
		return err
	}
	w := newWaiter(s, c.limit)
	for _, r := range refs {
		state := c.state
		if state == "" {
			state = r.Kind.Ready
		}
		if state == "" {
			return fmt.Errorf("set --for to the state of %s to wait for", r)
		}
		if w.wait(ctx, target{Ref: r, namespace: s.namespace}, state) {
			fmt.Fprintf(s.out, "%s is %s\n", r, state)
		}
	}
	return nil
}

// waiter waits for one object after another, all within one limit.
type waiter struct {
	*session
	deadline time.Time // zero is without limit
}

func newWaiter(s *session, limit waitLimit) *waiter {
	w := &waiter{session: s}
	if limit.timeout > 0 {
		w.deadline = time.Now().Add(limit.timeout)
	}
	return w
}

// reasonNever is the reason of the error of a state that cannot be reached any more.
const reasonNever = "WILL_NOT_HAPPEN"

// wait reports whether the object came to be in the state; if not, the reason has been printed.
func (w *waiter) wait(ctx context.Context, t target, state string) bool {
	err := w.quietly(ctx, t, state)
	if err == nil {
		return true
	}
	if ctx.Err() != nil {
		return false // Ctrl-C
	}
	code := ExitFailed
	switch p := raygate.ProblemOf(err); {
	case p.Code == codes.DeadlineExceeded:
		code = ExitTimeout
	case p.Reason == reasonNever:
		code = ExitNever
	}
	w.fail(t.String(), err, code)
	if code != ExitFailed && state != "deleted" {
		explain(ctx, w.session, t, w.err)
	}
	return false
}

// quietly waits and shows the progress of the object, but prints no error.
func (w *waiter) quietly(ctx context.Context, t target, state string) error {
	var left time.Duration
	if !w.deadline.IsZero() {
		left = max(time.Until(w.deadline), time.Millisecond)
	}
	messages := w.client.Messages(t.Kind.Kind, t.namespace)
	following, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); w.follow(following, messages, t) }()
	_, err := messages.Wait(ctx, t.Name, state, left)
	stop()
	<-done
	w.progress.Clear()
	return err
}

// follow shows the states of an object as they arrive. It ignores errors, because the wait reports the same ones.
func (w *waiter) follow(ctx context.Context, messages *raygate.Messages, t target) {
	w.progress.Show("waiting for " + t.String())
	for event, err := range messages.Watch(ctx, raygate.WatchOptions{Filter: filterFor(t.Name), Basic: true}) {
		if err != nil {
			return
		}
		if event.Object != nil && event.Type != raygate.Deleted {
			w.progress.Show(t.String() + ": " + output.Clean(summaryOf(t.Kind, event)))
		}
	}
}

func summaryOf(k *kind.Kind, event messageEvent) string {
	if metaOf(event.Object).GetDeletionTimestamp() != nil {
		return "deleting"
	}
	return k.Summary(event.Object)
}
