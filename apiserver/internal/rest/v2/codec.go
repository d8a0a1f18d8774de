package v2

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/pkg/kubedoc"
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

// marshaler writes one content type.
type marshaler struct{ contentType string }

var _ runtime.Marshaler = marshaler{}
var _ runtime.StreamContentType = marshaler{}
var _ runtime.Delimited = marshaler{}

// ContentType implements runtime.Marshaler.
func (m marshaler) ContentType(any) string {
	if m.contentType == typeYAML {
		return typeYAML
	}
	return typeJSON
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
	data, err := messageJSON(msg)
	if err != nil {
		return nil, err
	}
	switch m.contentType {
	case typeYAML:
		return yaml.JSONToYAML(escaped(data))
	case typePretty:
		var out bytes.Buffer
		err := json.Indent(&out, data, "", "  ")
		out.WriteByte('\n')
		return out.Bytes(), err
	}
	return data, nil
}

// escaped returns JSON without characters that YAML allows only as escapes, or takes for line breaks.
func escaped(data []byte) []byte {
	special := func(c rune) bool {
		return c >= 0x7f && c <= 0x9f || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff
	}
	if bytes.IndexFunc(data, special) < 0 {
		return data
	}
	out := make([]byte, 0, len(data)+1<<10)
	for _, c := range string(data) {
		if special(c) {
			out = fmt.Appendf(out, `\u%04x`, c)
		} else {
			out = utf8.AppendRune(out, c)
		}
	}
	return out
}

// messageJSON writes a message of ours, or a google.rpc.Status. protojson varies its spacing on purpose, which nobody needs to see.
func messageJSON(msg proto.Message) ([]byte, error) {
	if _, ok := msg.(*spb.Status); !ok {
		return document.JSON(msg)
	}
	data, err := protojson.Marshal(msg)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Compact(&out, data)
	return out.Bytes(), err
}

func (m marshaler) streamMessage(msg proto.Message) ([]byte, error) {
	data, err := messageJSON(msg)
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
	data, err := messageJSON(msg)
	if err != nil {
		return nil, err
	}
	data = fmt.Appendf(nil, `{"error":%s}`, data)
	if m.contentType == typeSSE {
		return fmt.Appendf(nil, "event: error\ndata: %s\n\n", data), nil
	}
	return append(data, '\n'), nil
}

// Unmarshal implements runtime.Marshaler.
func (marshaler) Unmarshal([]byte, any) error { return errNoBody }

// NewDecoder implements runtime.Marshaler.
func (marshaler) NewDecoder(io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(any) error { return errNoBody })
}

// errNoBody is for the mux, whose streams have none.
var errNoBody = errors.New("streams have no bodies")

// decode reads a body. An object goes to the service as the document that it is: only there all its mistakes can be named together with what rules say,
// and only the API server knows whether it has the fields that its message does not have.
func (b *body) decode(msg proto.Message) error {
	if len(bytes.TrimSpace(b.data)) == 0 {
		return malformed(field.ErrorList{kubedoc.Problem(nil, "MALFORMED_BODY", "the request has no body: send the object as JSON or YAML")})
	}
	tree, mistakes := kubedoc.Read(b.data, b.contentType == typeYAML)
	if tree == nil {
		return malformed(mistakes)
	}
	if _, isObject := msg.(interface{ GetMetadata() *raygatev2.ObjectMeta }); isObject {
		convert.FillKnown(msg, map[string]any{"metadata": tree["metadata"]}) // for the log, which wants its name
		b.document.Tree, b.document.Mistakes = tree, mistakes
		return nil
	}
	return malformed(append(mistakes, kubedoc.Decode(tree, msg, nil)...))
}

// malformed returns nil when there are no mistakes.
func malformed(mistakes field.ErrorList) error {
	if len(mistakes) == 0 {
		return nil
	}
	invalid := &rpcstatus.InvalidError{Reason: "MALFORMED_BODY"}
	for _, m := range mistakes {
		invalid.Violations = append(invalid.Violations, rpcstatus.Violation{Field: m.Field, Description: m.Detail, Reason: m.Origin})
	}
	return invalid
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
