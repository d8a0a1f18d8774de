package podrun

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// maxLine is the longest line that is written whole, as container runtimes have it.
	maxLine = 16 << 10
	// maxLog is how much of a container's output is kept.
	maxLog = 64 << 20
)

// criLog is a log in the format that kubelets read: a line with time, stream and a tag (full or partial) per line.
type criLog struct {
	mu      sync.Mutex
	file    *os.File // nil after close
	written int64
	streams []*criStream
}

func newCRILog(path string) (*criLog, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making log folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening container log: %w", err)
	}
	return &criLog{file: f}, nil
}

// criStream is standard output or error.
type criStream struct {
	log  *criLog
	name string
	rest []byte // of a line
}

func (l *criLog) stream(name string) io.Writer {
	s := &criStream{log: l, name: name}
	l.streams = append(l.streams, s)
	return s
}

// Write never fails for the process: a log that cannot be written must not end it.
func (s *criStream) Write(p []byte) (int, error) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.rest = append(s.rest, p...)
	for {
		i := bytes.IndexByte(s.rest, '\n')
		switch {
		case i >= 0 && i <= maxLine:
			s.line(s.rest[:i], 'F')
			s.rest = s.rest[i+1:]
			continue
		case len(s.rest) > maxLine:
			s.line(s.rest[:maxLine], 'P')
			s.rest = s.rest[maxLine:]
			continue
		}
		s.rest = bytes.Clone(s.rest)
		return len(p), nil
	}
}

// line writes one line; the caller holds the lock.
func (s *criStream) line(text []byte, tag byte) {
	l := s.log
	if l.file == nil || l.written > maxLog {
		return
	}
	n, _ := fmt.Fprintf(l.file, "%s %s %c %s\n", time.Now().UTC().Format(time.RFC3339Nano), s.name, tag, text)
	if l.written += int64(n); l.written > maxLog {
		fmt.Fprintf(l.file, "%s %s F [the rest of the output is not kept: it is over %d MiB]\n", time.Now().UTC().Format(time.RFC3339Nano), s.name, maxLog>>20)
	}
}

// close writes what is left without an end of line. It may be called again.
func (l *criLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return
	}
	for _, s := range l.streams {
		if len(s.rest) > 0 {
			s.line(s.rest, 'P')
		}
	}
	_ = l.file.Close()
	l.file = nil
}
