package v2

import (
	"context"
	"fmt"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/raygate/raygate/apiserver/internal/document"
)

// serveStream calls a method that answers with a stream: a watch, whose messages are sent bare, as Kubernetes does, in lines or as events for browsers; or a
// log, whose bytes are sent as they are.
func (c *call) serveStream(ctx context.Context, fill func(any) error) {
	header, begun := c.w.Header(), false
	header.Set("X-Accel-Buffering", "no")
	isLog := c.route.Descriptor.Output().Fields().ByName("data") != nil
	contentType := typeNDJSON
	switch {
	case isLog:
		contentType = typeText
	case c.form == typeSSE:
		contentType = typeSSE
	}
	send := func(data []byte) error {
		if !begun {
			header.Set("Content-Type", contentType)
			begun = true
		}
		_, err := c.w.Write(data)
		if err == nil {
			err = http.NewResponseController(c.w).Flush()
		}
		if err != nil {
			return status.Error(codes.Canceled, "the client is gone")
		}
		return nil
	}
	err := c.Conn.Stream(ctx, c.route.RPC, fill, func(message any) error {
		switch m := message.(type) {
		case *document.Event:
			return send(c.form.event(m))
		case interface{ GetData() []byte }:
			return send(m.GetData())
		}
		return fmt.Errorf("a %T cannot be sent", message)
	})
	switch {
	case err == nil && !begun:
		_ = send(nil) // an empty log
	case err == nil:
	case !begun: // an error like that of any other call
		c.WriteError(c.w, err)
	case isLog:
		panic(http.ErrAbortHandler) // no client may take a log that broke off for all of it, or an error for a line of it
	default:
		st, _ := c.Table.Status(err, header.Get("X-Request-Id"))
		if data, err := statusJSON(st.Proto()); err == nil {
			_ = send(c.form.failure(data))
		}
	}
}

// event is an event of a watch, as it is sent.
func (f format) event(e *document.Event) []byte {
	if f == typeSSE {
		return fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", e.ResumeToken, e.Type, e.JSON)
	}
	return fmt.Appendf(make([]byte, 0, len(e.JSON)+1), "%s\n", e.JSON)
}

// failure is the end of a watch that fails, as it is sent.
func (f format) failure(status []byte) []byte {
	if f == typeSSE {
		return fmt.Appendf(nil, "event: error\ndata: {\"error\":%s}\n\n", status)
	}
	return fmt.Appendf(nil, "{\"error\":%s}\n", status)
}
