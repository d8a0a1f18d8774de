package codec

import (
	"errors"
	"fmt"
	"mime"
	"strings"

	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"
)

const (
	// JSON is the content type a body has unless it says otherwise.
	JSON = "application/json"
	// YAML is the content type of YAML in replies; several others are understood.
	YAML = "application/yaml"
	// MaxDepth is how deep objects and lists may be nested. A pod template needs less than 20.
	MaxDepth = 100
	// MaxValues is how many values (keys not counted) a document may have, with all aliases of YAML followed. An object that etcd takes has less.
	MaxValues = 250_000
	// maxText bounds the text of all values together, which only aliases can make longer than the document.
	maxText = 4 << 20
)

// ErrUnsupported is returned, wrapped, for a content type that is neither JSON nor YAML.
var ErrUnsupported = errors.New("unsupported content type")

// IsYAML reports whether contentType, which may have parameters, is YAML. Anything empty or JSON is not; another type is an
// error that wraps ErrUnsupported.
func IsYAML(contentType string) (bool, error) {
	if contentType == "" {
		return false, nil
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		mediaType, _, _ = strings.Cut(contentType, ";")
	}
	switch strings.ToLower(strings.TrimSpace(mediaType)) {
	case JSON, "text/json":
		return false, nil
	case YAML, "application/x-yaml", "text/yaml", "text/x-yaml":
		return true, nil
	default:
		return false, fmt.Errorf("%w %q, use %s or %s", ErrUnsupported, contentType, JSON, YAML)
	}
}

// Decode reads data into m, which it resets first. All mistakes are returned together as an *Error; m then holds what had
// none. A content type other than JSON (also when empty) and YAML is ErrUnsupported.
func Decode(data []byte, contentType string, m proto.Message) error {
	isYAML, err := IsYAML(contentType)
	if err != nil {
		return err
	}
	proto.Reset(m)
	p := &problems{}
	var root node
	if isYAML {
		root = parseYAML(data, p)
	} else {
		root = parseJSON(data, p)
	}
	if root.kind != kindNone {
		d := decoder{problems: p}
		d.message(root, m.ProtoReflect(), nil)
	}
	return p.err()
}

// Encode writes m the way Kubernetes writes JSON: absent fields are left out, 64-bit integers are numbers, keys of maps are
// sorted. The same message always gives the same bytes. JSON has no line break at its end, YAML has one.
func Encode(m proto.Message, contentType string) ([]byte, error) {
	isYAML, err := IsYAML(contentType)
	if err != nil {
		return nil, err
	}
	// On the wire a message is somewhat shorter than its JSON, and as long where it carries JSON.
	data, err := AppendJSON(make([]byte, 0, proto.Size(m)*5/4), m)
	if err != nil || !isYAML {
		return data, err
	}
	return yaml.JSONToYAML(data)
}
