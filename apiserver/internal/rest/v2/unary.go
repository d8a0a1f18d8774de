package v2

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/edge"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// serveUnary calls the method of a route, whose request fill makes, and sends its answer.
func (c *call) serveUnary(ctx context.Context, fill func(any) error) {
	answer, header, err := c.Conn.Call(ctx, c.route.RPC, fill)
	for _, text := range header[interceptor.WarningKey] {
		c.w.Header().Add("Warning", text)
	}
	var parts [][]byte
	if err == nil {
		parts, err = c.parts(ctx, answer.(proto.Message))
	}
	if err != nil {
		c.writeError(c.w, c.form, err)
		return
	}
	c.send(parts, c.headers(answer.(proto.Message)))
}

// textCopies is the approximate memory to convert an answer to YAML or to indent it, in multiples of its length.
const textCopies = 16

// parts returns the answer in parts. A page of a thousand objects is not joined in memory, unless the client wants another form than JSON.
func (c *call) parts(ctx context.Context, answer proto.Message) (parts [][]byte, err error) {
	size := 0
	for _, object := range c.exchange.Objects {
		size += len(object)
	}
	if c.exchange.Text {
		if err := edge.Hold(ctx, textCopies*int64(size)); err != nil {
			return nil, err
		}
	}
	switch {
	case size == 0:
		parts = make([][]byte, 1)
		parts[0], err = document.JSON(c.shown(answer))
	case c.route.Shown != "":
		parts = c.exchange.Objects
	default:
		parts, err = document.JSONWith(answer, c.exchange.Field, c.exchange.Objects...)
	}
	if err == nil && c.exchange.Text {
		parts = [][]byte{bytes.Join(parts, nil)}
		parts[0], err = c.form.encode(parts[0])
	}
	if err != nil {
		return nil, fmt.Errorf("encoding an answer: %w", err)
	}
	return parts, nil
}

// shown is the part of an answer that is sent.
func (c *call) shown(answer proto.Message) proto.Message {
	if c.route.Shown == "" {
		return answer
	}
	m := answer.ProtoReflect()
	return m.Get(m.Descriptor().Fields().ByName(c.route.Shown)).Message().Interface()
}

// headers sets ETag and Location, and returns the status.
func (c *call) headers(answer proto.Message) int {
	name := ""
	if x := c.exchange; c.route.Shown != "" {
		if name = x.Name; x.Version != "" {
			c.w.Header().Set("ETag", `"`+x.Version+`"`)
		}
	}
	if s, ok := answer.(interface{ GetSubmission() *raygatev2.Submission }); ok {
		name = url.PathEscape(s.GetSubmission().GetSubmissionId())
	}
	if name == "" || c.route.Method != http.MethodPost || c.route.Verb() != "" {
		return http.StatusOK
	}
	c.w.Header().Set("Location", strings.TrimSuffix(c.request.URL.Path, "/")+"/"+name)
	return http.StatusCreated
}

// buffers are the buffers of answers.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 32<<10) }}

// buffered is a response whose bytes are collected, because parts are often short and compression writes a few bytes at a time.
type buffered struct {
	http.ResponseWriter
	out *bufio.Writer
}

// Write implements http.ResponseWriter.
func (w buffered) Write(p []byte) (int, error) { return w.out.Write(p) }

// send writes an answer. It compresses a long one for clients that accept that. A disconnected client is no error.
func (c *call) send(parts [][]byte, code int) {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	c.w.Header().Set("Content-Type", c.form.contentType())
	c.w.Header().Set("Content-Length", strconv.Itoa(size))
	if len(parts) == 1 && size < minGzip {
		c.w.Header().Add("Vary", "Accept-Encoding")
		write(c.w, parts, code)
		return
	}
	w := buffered{c.w, buffers.Get().(*bufio.Writer)}
	w.out.Reset(c.w)
	defer func() {
		w.out.Reset(nil)
		buffers.Put(w.out)
	}()
	c.zip(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w, parts, code) })).ServeHTTP(w, c.request)
	_ = w.out.Flush()
}

func write(w http.ResponseWriter, parts [][]byte, code int) {
	w.WriteHeader(code)
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}
