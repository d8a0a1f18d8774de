package v2

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/apiserver/internal/model/codec"
	"github.com/raygate/raygate/pkg/kubedoc/mistake"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// The content types of bodies.
const (
	typeJSON   = "application/json"
	typeYAML   = "application/yaml"
	typePretty = "application/json+pretty" // asked for by ?pretty, never seen outside
	typeSSE    = "text/event-stream"
	typeNDJSON = "application/x-ndjson"
	typeText   = "text/plain" // of logs
)

// marshaler speaks one content type. It decodes strictly by the model's codec.
type marshaler struct{ contentType string }

var _ runtime.Marshaler = marshaler{}
var _ runtime.StreamContentType = marshaler{}
var _ runtime.Delimited = marshaler{}

// ContentType implements runtime.Marshaler.
func (m marshaler) ContentType(any) string {
	switch m.contentType {
	case typeYAML:
		return typeYAML
	default:
		return typeJSON
	}
}

// StreamContentType implements runtime.StreamContentType.
func (m marshaler) StreamContentType(any) string {
	switch m.contentType {
	case typeSSE:
		return typeSSE
	case typeText:
		return typeText + "; charset=utf-8"
	}
	return typeNDJSON
}

// Delimiter implements runtime.Delimited.
func (m marshaler) Delimiter() []byte {
	switch m.contentType {
	case typeSSE:
		return []byte("\n\n")
	case typeText:
		return nil
	}
	return []byte("\n")
}

// Marshal implements runtime.Marshaler.
func (m marshaler) Marshal(v any) ([]byte, error) {
	// A stream wraps its messages in {"result": …} and its end in {"error": …}. Messages are sent bare, as Kubernetes watches do.
	switch chunk := v.(type) {
	case map[string]any:
		if part, ok := chunk["result"].(interface{ GetData() []byte }); ok {
			return part.GetData(), nil
		}
		if result, ok := chunk["result"].(proto.Message); ok {
			return m.streamMessage(result)
		}
	case map[string]proto.Message:
		if failure, ok := chunk["error"]; ok {
			return m.streamError(failure)
		}
	}
	if list, ok := v.(proto.Message); ok {
		return m.marshalMessage(list)
	}
	return json.Marshal(v)
}

func (m marshaler) marshalMessage(msg proto.Message) ([]byte, error) {
	if isStatus(msg) {
		data, err := statusJSON(msg)
		if err != nil || m.contentType != typeYAML {
			return data, err
		}
		return yaml.JSONToYAML(data)
	}
	switch m.contentType {
	case typeYAML:
		return codec.Encode(msg, typeYAML)
	case typePretty:
		data, err := codec.Encode(msg, typeJSON)
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		if err := json.Indent(&out, data, "", "  "); err != nil {
			return nil, err
		}
		out.WriteByte('\n')
		return out.Bytes(), nil
	default:
		return codec.Encode(msg, typeJSON)
	}
}

func (m marshaler) streamMessage(msg proto.Message) ([]byte, error) {
	data, err := codec.Encode(msg, typeJSON)
	if err != nil || m.contentType != typeSSE {
		return data, err
	}
	event, id := "message", ""
	if w, ok := msg.(interface {
		GetType() string
		GetResumeToken() string
	}); ok {
		event, id = w.GetType(), w.GetResumeToken()
	}
	return fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s", id, event, data), nil
}

func (m marshaler) streamError(msg proto.Message) ([]byte, error) {
	data, err := statusJSON(msg)
	if err != nil {
		return nil, err
	}
	data = fmt.Appendf(nil, `{"error":%s}`, data)
	if m.contentType == typeSSE {
		return fmt.Appendf(nil, "event: error\ndata: %s\n\n", data), nil
	}
	return append(data, '\n'), nil
}

func isStatus(m proto.Message) bool {
	_, ok := m.(*spb.Status)
	return ok
}

// statusJSON writes a google.rpc.Status. protojson varies its spacing on purpose, which nobody needs to see.
func statusJSON(m proto.Message) ([]byte, error) {
	data, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Unmarshal implements runtime.Marshaler.
func (m marshaler) Unmarshal(data []byte, v any) error {
	msg, err := messageOf(v)
	if err != nil {
		return err
	}
	contentType := m.contentType
	if contentType != typeYAML {
		contentType = typeJSON
	}
	return codec.Decode(data, contentType, msg)
}

// messageOf returns the message behind v, which generated code passes as a message or as the address of a field that holds one.
func messageOf(v any) (proto.Message, error) {
	if msg, ok := v.(proto.Message); ok {
		return msg, nil
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && rv.Elem().Kind() == reflect.Pointer {
		if rv.Elem().IsNil() {
			rv.Elem().Set(reflect.New(rv.Elem().Type().Elem()))
		}
		if msg, ok := reflect.TypeAssert[proto.Message](rv.Elem()); ok {
			return msg, nil
		}
	}
	return nil, fmt.Errorf("cannot decode into %T", v)
}

// NewDecoder implements runtime.Marshaler. What it finds wrong it leaves in the body as well, because generated code makes a plain
// text of the error.
func (m marshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		b, ok := r.(*body)
		if !ok {
			return errors.New("the body was not prepared")
		}
		if len(bytes.TrimSpace(b.data)) == 0 {
			b.err = emptyBodyError{}
		} else {
			b.err = m.Unmarshal(b.data, v)
			b.message, _ = messageOf(v)
			b.pass(m.contentType)
		}
		return b.err
	})
}

// pass hands the document itself on to the service. Fields that the message does not have are not the end of the call: the service knows whether
// the API server has them.
func (b *body) pass(contentType string) {
	if bad, ok := errors.AsType[*codec.Error](b.err); b.err != nil && (!ok || slices.ContainsFunc(bad.Violations, func(v codec.Violation) bool { return v.Reason != mistake.UnknownField })) {
		return
	}
	if _, ok := b.message.(interface{ GetMetadata() *raygatev2.ObjectMeta }); !ok {
		return // only objects are looked at again
	}
	data := b.data
	if contentType == typeYAML {
		var err error
		if data, err = yaml.YAMLToJSON(b.data); err != nil {
			return
		}
	}
	b.document.JSON, b.err = data, nil
}

// NewEncoder implements runtime.Marshaler.
func (m marshaler) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		data, err := m.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
}

type emptyBodyError struct{}

// Error implements error.
func (emptyBodyError) Error() string {
	return "the request has no body: send the object as JSON or YAML"
}
