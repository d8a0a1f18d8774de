// Package progress shows what a command waits for: in one changing line on a terminal, elsewhere in a new line for each change.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"
)

// interval is the time after which the line is rewritten, so that the time in it is current.
const interval = time.Second

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Reporter shows one state at a time. Its methods may be called by many goroutines.
type Reporter struct {
	w        io.Writer
	terminal bool
	width    func() int

	mu    sync.Mutex
	began time.Time
	text  string // the current text of the changing line; empty for none
	last  string // the last text if there is no such line
	stop  chan struct{}
	done  chan struct{}
}

// New returns a Reporter that writes to w. This usually is standard error, so that programs can use the standard output of a command.
func New(w io.Writer) *Reporter {
	r := &Reporter{w: w, terminal: IsTerminal(w), began: time.Now(), width: func() int { return 80 }}
	if f, ok := w.(*os.File); ok && r.terminal {
		r.width = func() int {
			if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
				return width
			}
			return 80
		}
	}
	return r
}

// Show shows a state. The same one again is not shown again.
func (r *Reporter) Show(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.terminal {
		if text != r.last {
			fmt.Fprintln(r.w, text)
		}
		r.last = text
		return
	}
	r.text = text
	r.draw()
	if r.stop == nil {
		r.stop, r.done = make(chan struct{}), make(chan struct{})
		go r.tick(r.stop, r.done)
	}
}

func (r *Reporter) tick(stop <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			r.mu.Lock()
			r.draw()
			r.mu.Unlock()
		}
	}
}

// draw writes the line over the one before.
func (r *Reporter) draw() {
	line := fmt.Sprintf("%s  %s", duration.HumanDuration(time.Since(r.began)), r.text)
	if most := r.width() - 1; len(line) > most {
		line = strings.ToValidUTF8(line[:max(most, 0)], "")
	}
	fmt.Fprintf(r.w, "\r\x1b[K%s", line)
}

// Note writes a permanent line above the changing one.
func (r *Reporter) Note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.terminal && r.text != "" {
		fmt.Fprint(r.w, "\r\x1b[K")
	}
	fmt.Fprintln(r.w, text)
	if r.terminal && r.text != "" {
		r.draw()
	}
}

// Clear removes the line that changes, before other output. Show may follow.
func (r *Reporter) Clear() {
	r.mu.Lock()
	stop, done := r.stop, r.done
	r.stop, r.done = nil, nil
	r.mu.Unlock()
	if stop != nil {
		close(stop)
		<-done
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.terminal && r.text != "" {
		fmt.Fprint(r.w, "\r\x1b[K")
	}
	r.text = ""
}
