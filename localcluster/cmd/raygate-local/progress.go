package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress prints lines with the time; safe for use by several goroutines.
type progress struct {
	mu  sync.Mutex
	out io.Writer
}

func (p *progress) printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "%s  %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}

// plain prints text without the time.
func (p *progress) plain(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, text)
}
