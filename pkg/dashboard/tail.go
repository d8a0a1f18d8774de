package dashboard

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/coder/websocket"
)

// TailJobLogs implements Client. It reads frames in pieces, so that a single long line needs no more memory than the buffer of the reader.
func (c *HTTPClient) TailJobLogs(ctx context.Context, id string) (io.ReadCloser, error) {
	const name = "TailJobLogs"
	u, err := c.url(call{name: name, id: id, below: "/logs/tail"})
	if err != nil {
		return nil, err
	}
	handshake := *c.client
	handshake.Timeout = c.config.ReadTimeout // of the handshake alone
	conn, resp, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{
		HTTPClient: &handshake, HTTPHeader: c.header(), CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, tailRefusal(name, resp, err)
	}
	conn.SetReadLimit(-1)
	ctx, cancel := context.WithCancel(ctx)
	return &logStream{ctx: ctx, cancel: cancel, conn: conn}, nil
}

func tailRefusal(name string, resp *http.Response, err error) error {
	if resp == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return &Error{Call: name, Kind: ErrUnavailable, Cause: withoutURL(err)}
	}
	var text []byte
	if resp.Body != nil {
		text, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // the library keeps the first 1024 bytes
	}
	return refusal(name, resp.StatusCode, resp.Header.Get("Content-Type"), text)
}

// logStream joins the frames of a WebSocket. Read is for one goroutine, Close for any.
type logStream struct {
	ctx    context.Context // that of the stream: Read has none
	cancel context.CancelFunc
	conn   *websocket.Conn
	frame  io.Reader
	err    error
}

// Read implements io.Reader.
func (s *logStream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, s.err
	}
	for s.err == nil {
		if s.frame == nil {
			var err error
			if _, s.frame, err = s.conn.Reader(s.ctx); err != nil {
				s.end(err)
				break
			}
		}
		n, err := s.frame.Read(p)
		switch {
		case errors.Is(err, io.EOF):
			s.frame = nil
		case err != nil:
			s.end(err)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, s.err
}

func (s *logStream) end(err error) {
	s.cancel()
	if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
		s.err = io.EOF
		return
	}
	s.err = &Error{Call: "TailJobLogs", Kind: ErrUnavailable, Cause: err}
}

// Close ends the stream at once, also a Read that waits.
func (s *logStream) Close() error {
	s.cancel()
	return s.conn.CloseNow()
}
