package raysim

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// A frame of a tail has at most so many lines, and is sent once it is longer than so many bytes.
const (
	frameLines = 10
	frameBytes = 20_000
)

// tail is an open WebSocket; cut ends it as a broken connection would.
type tail struct{ cut context.CancelFunc }

// tail sends the log from its start until the job has ended.
func (c *Cluster) tail(w http.ResponseWriter, r *http.Request) {
	j := c.submitted(w, r, "tail logs of")
	if j == nil {
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // Accept has answered
	}
	defer ws.CloseNow() //nolint:errcheck // the connection is given up
	// The request's context ends when the connection is hijacked. Clients send nothing; reading detects that they disconnect.
	base, cancel := context.WithCancel(c.ctx)
	defer cancel()
	ctx := ws.CloseRead(base)
	t := &tail{cut: cancel}
	c.mu.Lock()
	c.tails[t] = struct{}{}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.tails, t)
		c.mu.Unlock()
	}()
	if err := c.send(ctx, ws, j); err == nil {
		_ = ws.Close(websocket.StatusNormalClosure, "")
	}
}

// send returns nil when the job has ended and all of its log is sent.
func (c *Cluster) send(ctx context.Context, ws *websocket.Conn, j *job) error {
	log := growing{path: j.logPath()}
	defer log.close()
	f := &frames{write: func(text string) error { return ws.Write(ctx, websocket.MessageText, []byte(text)) }}
	for {
		// Read the state before the log, so that output before the end is always read.
		ended := j.snapshot().Status.Terminal()
		if err := log.copyTo(f); err != nil {
			return err
		}
		if ended {
			return f.flush(true)
		}
		if err := f.flush(false); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(c.opts.Poll):
		}
	}
}

// growing is a file that others append to. It need not exist yet.
type growing struct {
	path string
	file *os.File
}

// copyTo writes what was appended since the last call.
func (g *growing) copyTo(w io.Writer) (err error) {
	if g.file == nil {
		g.file, err = os.Open(g.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	_, err = io.Copy(w, g.file)
	return err
}

func (g *growing) close() {
	if g.file != nil {
		_ = g.file.Close()
	}
}

// frames cuts a log into text frames. A character of several bytes stays whole.
type frames struct {
	write func(string) error
	buf   []byte
	lines int
}

// Write implements io.Writer.
func (f *frames) Write(data []byte) (int, error) {
	for i, b := range data {
		f.buf = append(f.buf, b)
		if b == '\n' {
			f.lines++
		}
		if f.lines == frameLines || len(f.buf) > frameBytes && utf8.RuneStart(b) && b < utf8.RuneSelf {
			if err := f.flush(true); err != nil {
				return i, err
			}
		}
	}
	return len(data), nil
}

// flush sends the buffered text. Unless all is true, it keeps an incomplete character at the end.
func (f *frames) flush(all bool) error {
	n := len(f.buf)
	if !all {
		for i := 1; i < utf8.UTFMax && i <= n; i++ {
			if tail := f.buf[n-i:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					n -= i
				}
				break
			}
		}
	}
	if n == 0 {
		return nil
	}
	text := strings.ToValidUTF8(string(f.buf[:n]), "\uFFFD")
	f.buf, f.lines = append([]byte(nil), f.buf[n:]...), 0
	return f.write(text)
}
