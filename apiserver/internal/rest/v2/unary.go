package v2

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/edge"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// headerTimeout is the header with the time that a client gives a call.
const headerTimeout = "Grpc-Timeout"

// serveUnary calls the method of a route as a server of gRPC does: the request is decoded into the message of the service, which then passes the
// interceptors.
func (a *API) serveUnary(ctx context.Context, c *call, b *body, m marshaler, parts []string) {
	if timeout := c.request.Header[headerTimeout]; timeout != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		var err error
		if ctx, err = runtime.AnnotateContext(ctx, a.mux, &http.Request{Header: http.Header{headerTimeout: timeout}}, c.route.rpc); err != nil {
			a.writeError(c, m, err)
			return
		}
	}
	answer, header, err := a.Conn.Call(ctx, c.route.rpc, func(request any) error { return c.fill(request.(proto.Message), b, parts) })
	for _, text := range header[interceptor.WarningKey] {
		c.Header().Add("Warning", text)
	}
	if err == nil {
		err = c.answer(ctx, m, answer.(proto.Message))
	}
	if err != nil {
		a.writeError(c, m, err)
	}
}

// fill makes the request of a call: its body, then the variables of the path, then the query.
func (c *call) fill(request proto.Message, b *body, parts []string) error {
	m := request.ProtoReflect()
	if c.route.body != "" {
		into := m
		if c.route.body != "*" {
			into = m.Mutable(m.Descriptor().Fields().ByName(c.route.body)).Message()
		}
		if err := b.decode(into.Interface()); err != nil {
			return err
		}
	}
	for i, name := range c.route.variables {
		if name != "" {
			value := parts[i]
			if i == len(parts)-1 {
				value = strings.TrimSuffix(value, c.route.verb)
			}
			m.Set(m.Descriptor().Fields().ByName(name), protoreflect.ValueOfString(value))
		}
	}
	if c.request.URL.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(c.request.URL.RawQuery)
	if err == nil {
		err = runtime.PopulateQueryParameters(request, query, everyField)
	}
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return nil
}

// everyField leaves out none: a query with others than the parameters of the route has been refused.
var everyField = utilities.NewDoubleArray(nil)

// answer sends the answer of a call.
func (c *call) answer(ctx context.Context, m marshaler, answer proto.Message) error {
	if m.contentType != typeJSON {
		if err := edge.Hold(ctx, textCopies*int64(len(document.Carried(answer.ProtoReflect())))); err != nil {
			return err
		}
	}
	data := c.document.Object
	if data == nil {
		var err error
		if data, err = m.marshalMessage(c.shown(answer)); err != nil {
			return fmt.Errorf("encoding an answer: %w", err)
		}
	}
	c.headers(answer) // with a code that an error before this must not get
	c.Header().Set("Content-Type", m.ContentType(nil))
	c.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = c.Write(data) // that the client is gone is nobody's error
	return nil
}

// shown is the part of an answer that is sent.
func (c *call) shown(answer proto.Message) proto.Message {
	if c.route.shown == "" {
		return answer
	}
	m := answer.ProtoReflect()
	return m.Get(m.Descriptor().Fields().ByName(c.route.shown)).Message().Interface()
}

// headers sets what HTTP clients look for besides the body.
func (c *call) headers(answer proto.Message) {
	meta := document.MetadataOf(answer)
	if rv := meta.GetResourceVersion(); rv != "" {
		c.Header().Set("ETag", `"`+rv+`"`)
	}
	name := meta.GetName()
	if s, ok := answer.(interface{ GetSubmission() *raygatev2.Submission }); ok {
		name = url.PathEscape(s.GetSubmission().GetSubmissionId())
	}
	if name != "" && c.route.method == http.MethodPost && c.route.verb == "" {
		c.Header().Set("Location", strings.TrimSuffix(c.path, "/")+"/"+name)
		c.WriteHeader(http.StatusCreated)
	}
}
