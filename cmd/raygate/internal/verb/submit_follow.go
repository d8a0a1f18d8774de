package verb

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/raygate/raygate/cmd/raygate/internal/progress"
)

// followed is a job that runs.
type followed interface {
	// name is how people find it again.
	name() string
	// logs and stops are the commands that print its log and stop it.
	commands() (logs, stop string)
	// follow prints its log and returns its exit code.
	follow(ctx context.Context) (int, error)
	stop(ctx context.Context) error
}

// following are the flags of a command that runs a job: whether it follows the job to its end, and stops it on Ctrl-C.
type following struct{ detach, stopOnInterrupt bool }

func (f *following) addFollowing(fs *pflag.FlagSet) {
	fs.BoolVar(&f.detach, "detach", false, "do not wait for the job and print no log")
	fs.BoolVar(&f.stopOnInterrupt, "stop-on-interrupt", false, "stop the job on Ctrl-C without asking")
}

// attend prints the log of a job that was submitted, and sets the exit code.
func (f *following) attend(ctx context.Context, s *session, job followed) {
	fmt.Fprintln(s.err, job.name()+" submitted")
	if f.detach {
		s.note(job)
		return
	}
	code, err := job.follow(ctx)
	s.progress.Clear()
	switch {
	case ctx.Err() != nil:
		s.failed = exitInterrupted
		f.interrupted(s, job)
	case err != nil:
		s.fail(job.name(), err, ExitNotRun)
		s.note(job)
	default:
		s.failed = code
	}
}

// note prints how to find a job again.
func (s *session) note(job followed) {
	logs, stop := job.commands()
	fmt.Fprintf(s.err, "The job goes on. Its log: %s\nTo stop it: %s\n", logs, stop)
}

// stopLimit bounds how long a command that was interrupted tries to stop its job.
const stopLimit = 15 * time.Second

// interrupted stops the job when that is wanted. Another Ctrl-C ends the program, and leaves the job running.
func (f *following) interrupted(s *session, job followed) {
	if !f.stopOnInterrupt && !s.ask("\nStop the job? [y/N] ") {
		s.note(job)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	if err := job.stop(ctx); err != nil {
		s.fail("stopping "+job.name(), err, exitInterrupted)
		s.note(job)
		return
	}
	fmt.Fprintln(s.err, job.name()+" asked to stop")
}

// ask asks a question on the terminal; without a terminal the answer is no.
func (s *session) ask(question string) bool {
	if in, ok := s.in.(*os.File); !ok || !progress.IsTerminal(in) || !progress.IsTerminal(s.err) {
		return false
	}
	fmt.Fprint(s.err, question)
	answer, _ := bufio.NewReader(s.in).ReadString('\n')
	return strings.EqualFold(strings.TrimSpace(answer), "y") || strings.EqualFold(strings.TrimSpace(answer), "yes")
}
