package v2

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// serveUnary calls the method of a route, whose request fill makes, and sends its answer.
func (c *call) serveUnary(ctx context.Context, fill func(any) error) {
	answer, header, err := c.Conn.Call(ctx, c.route.RPC, fill)
	for _, text := range header[interceptor.WarningKey] {
		c.w.Header().Add("Warning", text)
	}
	var data []byte
	if err == nil {
		data, err = c.encoded(ctx, answer.(proto.Message))
	}
	if err != nil {
		c.writeError(c.w, c.form, err)
		return
	}
	c.send(data, c.headers(answer.(proto.Message)))
}

// textCopies is the approximate memory to convert an answer to YAML or to indent it, in multiples of its length.
const textCopies = 16

// encoded returns the bytes of an answer.
func (c *call) encoded(ctx context.Context, answer proto.Message) (data []byte, err error) {
	x, size := c.exchange, 0
	for _, object := range x.Objects {
		size += len(object)
	}
	if x.Text {
		if err := flowcontrol.Hold(ctx, textCopies*int64(size)); err != nil {
			return nil, err
		}
	}
	switch {
	case size == 0:
		data, err = encoding.JSON(c.shown(answer))
	case c.route.Shown != "":
		data = x.Objects[0]
	default:
		data, err = encoding.JSONWith(answer, x.Field, x.Objects...)
	}
	if err == nil {
		data, err = c.form.encode(data)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding an answer: %w", err)
	}
	return data, nil
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

// buffered is a response whose bytes are collected, because compression writes a few bytes at a time.
type buffered struct {
	http.ResponseWriter
	out *bufio.Writer
}

// Write implements http.ResponseWriter.
func (w buffered) Write(p []byte) (int, error) { return w.out.Write(p) }

// send writes an answer. It compresses a long one for clients that accept that. A disconnected client is no error.
func (c *call) send(data []byte, code int) {
	write := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write(data)
	}
	c.w.Header().Set("Content-Type", c.form.contentType())
	c.w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if len(data) < minGzip {
		c.w.Header().Add("Vary", "Accept-Encoding")
		write(c.w, c.request)
		return
	}
	w := buffered{c.w, bufio.NewWriterSize(c.w, 32<<10)}
	c.zip(http.HandlerFunc(write)).ServeHTTP(w, c.request)
	_ = w.out.Flush()
}
