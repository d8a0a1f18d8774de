package v2

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/apiserver/internal/rest"
)

// The content types of bodies.
const (
	typeJSON   = "application/json"
	typeYAML   = "application/yaml"
	typePretty = "application/json+pretty" // asked for by ?pretty, never seen outside
	typeSSE    = "text/event-stream"
	typeNDJSON = "application/x-ndjson"
	typeText   = "text/plain; charset=utf-8" // of logs
)

// format is the content type that a client wants.
type format string

// contentType is that of an answer that is not a stream.
func (f format) contentType() string {
	if f == typeYAML {
		return typeYAML
	}
	return typeJSON
}

// encode makes an answer of its JSON.
func (f format) encode(data []byte) ([]byte, error) {
	switch f {
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

// escaped returns JSON without characters that YAML allows only as escapes, or treats as line breaks.
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

// statusJSON writes a status. It removes the random spacing that protojson adds on purpose.
func statusJSON(st *spb.Status) ([]byte, error) {
	data, err := protojson.Marshal(st)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Compact(&out, data)
	return out.Bytes(), err
}

// writeError writes any error as a google.rpc.Status.
func (a *API) writeError(w http.ResponseWriter, f format, err error) {
	st, code := rest.Failure(a.FlowControl.Table, w.Header(), err)
	data, err := statusJSON(st.Proto())
	if err == nil {
		data, err = f.encode(data)
	}
	if err != nil {
		data, code = []byte(`{"code":13,"message":"internal error"}`), http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", f.contentType())
	w.WriteHeader(code)
	_, _ = w.Write(data)
}
