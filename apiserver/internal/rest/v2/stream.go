package v2

import (
	"context"
	"fmt"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/raygate/raygate/apiserver/internal/encoding"
)

// stream is the answer to a call that stays open. Its header is sent with the first bytes.
type stream struct {
	*call
	contentType string
	begun       bool
}

func (s *stream) send(data []byte) error {
	if !s.begun {
		s.w.Header().Set("Content-Type", s.contentType)
		s.begun = true
	}
	_, err := s.w.Write(data)
	if err == nil {
		err = http.NewResponseController(s.w).Flush()
	}
	if err != nil {
		return status.Error(codes.Canceled, "the client is gone")
	}
	return nil
}

// serveStream calls a streaming method: a watch, whose messages are sent without an envelope, as Kubernetes does, in lines or as events for
// browsers; or a log, whose bytes are sent unchanged.
func (c *call) serveStream(ctx context.Context, fill func(any) error) {
	c.w.Header().Set("X-Accel-Buffering", "no")
	s := &stream{call: c, contentType: typeNDJSON}
	switch {
	case c.route.Descriptor.Output().Fields().ByName("data") != nil:
		s.contentType = typeText
	case c.form == typeSSE:
		s.contentType = typeSSE
	}
	s.end(c.Conn.Stream(ctx, c.route.RPC, fill, func(message any) error {
		switch m := message.(type) {
		case *encoding.Event:
			return s.send(c.form.event(m))
		case interface{ GetData() []byte }:
			return s.send(m.GetData())
		}
		return fmt.Errorf("a %T cannot be sent", message)
	}))
}

// end finishes the answer with the result of the call.
func (s *stream) end(err error) {
	switch {
	case err == nil && !s.begun:
		_ = s.send(nil) // an empty log
	case err == nil:
	case !s.begun: // an error like that of any other call
		s.WriteError(s.w, err)
	case s.contentType == typeText:
		panic(http.ErrAbortHandler) // so that no client takes a part of a log for all of it, or an error for a line of it
	default:
		st, _ := s.FlowControl.Table.Status(err, s.w.Header().Get("X-Request-Id"))
		if data, err := statusJSON(st.Proto()); err == nil {
			_ = s.send(s.form.failure(data))
		}
	}
}

// event returns the bytes of an event of a watch.
func (f format) event(e *encoding.Event) []byte {
	if f == typeSSE {
		return fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", e.ResumeToken, e.Type, e.JSON)
	}
	return fmt.Appendf(make([]byte, 0, len(e.JSON)+1), "%s\n", e.JSON)
}

// failure returns the last bytes of a watch that fails.
func (f format) failure(status []byte) []byte {
	if f == typeSSE {
		return fmt.Appendf(nil, "event: error\ndata: {\"error\":%s}\n\n", status)
	}
	return fmt.Appendf(nil, "{\"error\":%s}\n", status)
}
