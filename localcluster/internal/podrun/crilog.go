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
	// maxLine is the maximum length of a line that is written whole, as in container runtimes.
	maxLine = 16 << 10
	// maxLog limits the stored output of a container, in bytes.
	maxLog = 64 << 20
)

// criLog writes the log format of kubelets: each line has a time, a stream and a tag (full or partial).
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
	rest []byte // start of an incomplete line
}

func (l *criLog) stream(name string) io.Writer {
	s := &criStream{log: l, name: name}
	l.streams = append(l.streams, s)
	return s
}

// Write never returns an error, because a log that cannot be written must not end the process.
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

// line writes one line. The caller holds the lock.
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

// close writes incomplete lines and closes the file. It may be called again.
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
