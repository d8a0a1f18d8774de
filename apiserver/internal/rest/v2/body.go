package v2

import (
	"bytes"
	"context"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/pkg/manifest"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// body is a request body that has been read.
type body struct {
	data        []byte
	contentType string
}

// prepare checks a request and reads its body, for which there must be room.
func prepare(ctx context.Context, w http.ResponseWriter, r *http.Request, matched *rest.Route, visit *flowcontrol.Visit) (*body, error) {
	lastEventID(r, matched)
	if err := check(matched, r); err != nil {
		return nil, err
	}
	data, err := rest.ReadObject(ctx, w, r, visit)
	if err != nil {
		return nil, err
	}
	// Kubernetes uses the body of a DELETE, such as {"dryRun": ["All"]}. Ignoring one would delete the object.
	if said := string(bytes.TrimSpace(data)); matched != nil && matched.Body == "" && matched.Method != http.MethodGet && said != "" && said != "{}" {
		return nil, malformed(field.ErrorList{manifest.Problem(nil, "MALFORMED_BODY", "this method takes no body: send what it says as query parameters")})
	}
	contentType, err := bodyType(r.Header.Get("Content-Type"), data)
	if err != nil {
		return nil, err
	}
	return &body{data: data, contentType: contentType}, nil
}

// check refuses parameters, conditions and encodings that are not supported.
func check(m *rest.Route, r *http.Request) error {
	// An empty variable in a shell must not turn the list of one namespace into the list of all.
	if strings.HasPrefix(r.URL.Path, Prefix+"namespaces//") {
		return rpcstatus.BadField("namespace", "required")
	}
	if m != nil {
		if err := m.Query.Check(r.URL.RawQuery); err != nil {
			return err
		}
		supported := []string{"validateOnly", "validate_only", "etag"}
		if m.Descriptor.Input().Fields().ByName("etag") != nil {
			supported = append(supported, "If-Match")
		}
		if err := rest.RefuseUnsupported(r, supported...); err != nil {
			return err
		}
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return &rpcstatus.Error{Code: codes.InvalidArgument, Reason: "UNSUPPORTED_MEDIA_TYPE", Message: "compressed request bodies are not supported"}
	}
	return nil
}

// bodyType selects the decoder. A client without a content type, or with the default of curl -d, is probably a user at a terminal: a body
// that begins like JSON is JSON, any other is YAML.
func bodyType(header string, data []byte) (string, error) {
	if len(data) == 0 {
		return typeJSON, nil
	}
	mediaType, params, err := mime.ParseMediaType(header)
	if header == "" {
		mediaType, err = "", nil
	}
	if err != nil {
		return "", unsupportedType(header)
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return "", unsupportedType(header)
	}
	switch mediaType {
	case typeJSON, "text/json":
		return typeJSON, nil
	case typeYAML, "application/x-yaml", "text/yaml", "text/x-yaml", "application/vnd.yaml":
		return typeYAML, nil
	case "", "application/x-www-form-urlencoded", "application/octet-stream":
		if trimmed := bytes.TrimLeft(data, " \t\r\n\ufeff"); len(trimmed) > 0 && trimmed[0] == '{' {
			return typeJSON, nil
		}
		return typeYAML, nil
	}
	return "", unsupportedType(header)
}

func unsupportedType(header string) error {
	return &rpcstatus.Error{Code: codes.InvalidArgument, Reason: "UNSUPPORTED_MEDIA_TYPE", Message: "the content type " + strings.ToValidUTF8(header, "?") + " is not supported: send application/json or application/yaml, in UTF-8"}
}

// accepted maps media types in Accept headers to the gateway's formats.
var accepted = map[string]format{
	typeJSON: typeJSON, typeNDJSON: typeJSON, "*/*": typeJSON, "application/*": typeJSON, typeSSE: typeSSE,
	typeYAML: typeYAML, "application/x-yaml": typeYAML, "text/yaml": typeYAML, "text/x-yaml": typeYAML,
}

// chooseFormat reduces the Accept header to one of our types.
func chooseFormat(r *http.Request) format {
	chosen := acceptedType(r.Header.Values("Accept"))
	if r.URL.RawQuery == "" {
		return chosen
	}
	if query, err := url.ParseQuery(r.URL.RawQuery); err == nil && query.Has("pretty") { // one that is broken is left for Parameters.Check
		if chosen == typeJSON && query.Get("pretty") != "false" {
			chosen = typePretty
		}
		query.Del("pretty")
		r.URL.RawQuery = query.Encode()
	}
	return chosen
}

// acceptedType returns the type with the highest weight, the first of several.
func acceptedType(header []string) format {
	chosen, highest := format(typeJSON), 0.0
	all := strings.Join(header, ",")
	if t := accepted[all]; t != "" {
		return t
	}
	for part := range strings.SplitSeq(all, ",") {
		mediaType, params, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err != nil {
			continue
		}
		weight, err := strconv.ParseFloat(params["q"], 64)
		if err != nil {
			weight = 1
		}
		if t := accepted[mediaType]; t != "" && weight > highest {
			chosen, highest = t, weight
		}
	}
	return chosen
}

// lastEventID moves the header Last-Event-ID to the query. A browser that reconnects sends it with the URL of its first attempt, so it is newer than the query.
func lastEventID(r *http.Request, matched *rest.Route) {
	if matched == nil || r.Header.Get("Last-Event-ID") == "" {
		return
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if _, takes := matched.Query["resumeToken"]; takes && err == nil { // a broken one is left for Parameters.Check
		query.Del("resume_token")
		query.Set("resumeToken", r.Header.Get("Last-Event-ID"))
		r.URL.RawQuery = query.Encode()
	}
}

// decode reads a body. An object is passed to the service as its document. Only the service can report all its mistakes together with the
// problems that rules find, and only the API server knows whether it has the fields that the message lacks.
func (b *body) decode(msg proto.Message, x *encoding.Exchange) error {
	if len(bytes.TrimSpace(b.data)) == 0 {
		return malformed(field.ErrorList{manifest.Problem(nil, "MALFORMED_BODY", "the request has no body: send the object as JSON or YAML")})
	}
	tree, mistakes := manifest.Read(b.data, b.contentType == typeYAML)
	if tree == nil {
		return malformed(mistakes)
	}
	if _, isObject := msg.(interface{ GetMetadata() *raygatev2.ObjectMeta }); isObject {
		convert.FillKnown(msg, map[string]any{"metadata": tree["metadata"]}) // for the log, which wants its name
		x.Tree, x.Mistakes = tree, mistakes
		return nil
	}
	return malformed(append(mistakes, manifest.Decode(tree, msg, nil)...))
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
