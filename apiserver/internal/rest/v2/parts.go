package v2

import (
	"context"
	"net/http"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/apiserver/internal/document"
)

// takeRoom makes an answer of many bytes wait until there is room for them.
func (c *call) takeRoom(ctx context.Context, m proto.Message) error {
	size := len(document.Carried(m.ProtoReflect()))
	for _, part := range c.document.Tail {
		size += len(part)
	}
	if size == 0 {
		return nil
	}
	err := c.visit.Body(ctx, int64(size))
	if err != nil {
		c.document.Tail = nil // the error is the answer
	}
	return err
}

// partsWriter writes the parts of an answer behind its message, which comes in one piece.
type partsWriter struct {
	http.ResponseWriter
	document *document.Body
}

// Write implements http.ResponseWriter.
func (w *partsWriter) Write(message []byte) (int, error) {
	tail := w.document.Tail
	if tail == nil {
		return w.ResponseWriter.Write(message)
	}
	w.document.Tail = nil
	parts := append([][]byte{message[:len(message)-1]}, tail...)
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	w.Header().Set("Content-Length", strconv.Itoa(size))
	for _, part := range parts {
		if _, err := w.ResponseWriter.Write(part); err != nil {
			return 0, err
		}
	}
	return len(message), nil
}

// Unwrap is for http.ResponseController.
func (w *partsWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// inParts lets the services of a mux answer in parts.
func inParts(mux http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callFrom(r.Context())
		c.document.InParts = r.Header.Get("Accept") == typeJSON // others are made of the whole
		mux.ServeHTTP(&partsWriter{w, c.document}, r)
	})
}
