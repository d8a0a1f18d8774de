package dashboard

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"
)

// Log is the text of a log as it is read.
type Log struct {
	io.ReadCloser
	// AtMost is the largest possible number of bytes; negative if unknown.
	AtMost int64
}

// JobLogs implements Client.
func (c *HTTPClient) JobLogs(ctx context.Context, id string) (*Log, error) {
	const name = "JobLogs"
	ctx, cancel := context.WithCancel(ctx)
	stalled := time.AfterFunc(c.config.LogsTimeout, cancel)
	resp, err := c.send(ctx, call{name: name, method: http.MethodGet, id: id, below: "/logs"})
	if err != nil {
		cancel()
		return nil, err
	}
	text := &logText{
		call: name, in: bufio.NewReaderSize(http.MaxBytesReader(nil, resp.Body, c.config.MaxLogs), logBuffer), body: resp.Body, cancel: cancel, stalled: stalled, patience: c.config.LogsTimeout,
	}
	if err := text.begin(); err != nil {
		_ = text.Close()
		return nil, err
	}
	return &Log{text, resp.ContentLength}, nil
}

// logText reads the string "logs" of a JSON object piece by piece: a log is never held as a whole.
type logText struct {
	call    string
	in      *bufio.Reader
	body    io.Closer
	cancel  context.CancelFunc
	stalled *time.Timer // runs while a read waits for the dashboard
	// patience is how long the dashboard may send nothing.
	patience time.Duration
	pending  []byte // decoded and not yet read
	char     [utf8.UTFMax]byte
	err      error
}

const (
	// maxLogKeys limits the bytes before the log.
	maxLogKeys = 64 << 10
	// logBuffer is the size of the buffer for a log, in bytes.
	logBuffer = 16 << 10
)

var (
	errNoLogs = errors.New("no logs in it")
	errNoList = errors.New("no list of jobs")
)

// begin reads up to the first byte of the log.
func (t *logText) begin() error {
	d := json.NewDecoder(http.MaxBytesReader(nil, io.NopCloser(t.in), maxLogKeys+logBuffer))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return t.failed(errNoLogs, err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return t.failed(errNoLogs, err)
		}
		if key != "logs" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return t.failed(errNoLogs, err)
			}
			continue
		}
		t.in = bufio.NewReaderSize(io.MultiReader(d.Buffered(), t.in), logBuffer)
		for _, want := range []byte{':', '"'} {
			if got, err := t.next(); err != nil || got != want {
				return t.failed(errNoLogs, err)
			}
		}
		t.stalled.Stop()
		return nil
	}
	return t.failed(errNoLogs, nil)
}

// next returns the next byte that is not a space.
func (t *logText) next() (byte, error) {
	for {
		b, err := t.in.ReadByte()
		if err != nil || b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return b, err
		}
	}
}

// failed is the error of an answer with another content, or one that breaks off.
func (t *logText) failed(what, err error) error {
	var syntax *json.SyntaxError
	switch {
	case isTooLarge(err):
		return &Error{Call: t.call, Kind: ErrTooLarge, Code: http.StatusOK}
	case err != nil && !errors.As(err, &syntax) && !errors.Is(err, io.EOF) && !errors.Is(err, errEscape):
		return &Error{Call: t.call, Kind: ErrUnavailable, Code: http.StatusOK, Cause: err}
	case what == nil:
		what = err
	}
	return &Error{Call: t.call, Kind: ErrMalformed, Code: http.StatusOK, Message: what.Error()}
}

// Read implements io.Reader. It waits for the dashboard only when there is nothing to return.
func (t *logText) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && t.err == nil && (n == 0 || t.in.Buffered() >= maxEscape) {
		t.stalled.Reset(t.patience)
		piece, err := t.piece(len(p) - n)
		t.stalled.Stop()
		if t.err = err; err != nil && !errors.Is(err, io.EOF) {
			t.err = t.failed(nil, err)
		}
		n += copy(p[n:], piece)
	}
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, t.err
}

// maxEscape is how long the escape sequences of one character are.
const maxEscape = len(`\ud83d\ude00`)

// piece returns some bytes of the string, no more than there is space for, or io.EOF at its end. They are good until the next piece.
func (t *logText) piece(space int) ([]byte, error) {
	if len(t.pending) == 0 {
		if err := t.fill(); err != nil {
			return nil, err
		}
	}
	piece := t.pending[:min(space, len(t.pending))]
	t.pending = t.pending[len(piece):]
	return piece, nil
}

// fill decodes the next part: a run of plain text, or one escaped character.
func (t *logText) fill() error {
	if _, err := t.in.Peek(1); err != nil {
		return noEOF(err)
	}
	text, _ := t.in.Peek(t.in.Buffered())
	end := bytes.IndexAny(text, `"\`)
	switch {
	case end < 0:
		end = len(text)
	case end == 0 && text[0] == '"':
		return io.EOF
	case end == 0:
		return noEOF(t.escape())
	}
	t.pending = text[:end]
	_, err := t.in.Discard(end)
	return err
}

// noEOF is for an answer that ends within the string.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

var errEscape = errors.New("an escape that JSON does not have")

// escape decodes one escape sequence, or the two of one character.
func (t *logText) escape() error {
	begin, err := t.in.Peek(2)
	if err != nil {
		return err
	}
	size := len(begin)
	if begin[1] == 'u' {
		size = maxEscape / 2
	}
	one, err := t.in.Peek(size)
	if err != nil {
		return err
	}
	char, err := unescape(one)
	if err != nil {
		return errEscape
	}
	if char == string(utf8.RuneError) {
		two, _ := t.in.Peek(maxEscape)
		if pair, err := unescape(two); err == nil && utf8.RuneCountInString(pair) == 1 {
			char, size = pair, len(two)
		}
	}
	t.pending = append(t.char[:0], char...)
	_, err = t.in.Discard(size)
	return err
}

// unescape returns the text of escape sequences.
func unescape(escapes []byte) (text string, err error) {
	err = json.Unmarshal(slices.Concat([]byte{'"'}, escapes, []byte{'"'}), &text)
	return text, err
}

// Close implements io.Closer.
func (t *logText) Close() error {
	t.cancel()
	t.stalled.Stop()
	return t.body.Close()
}
