package v2

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/model/codec"
	"github.com/raygate/raygate/pkg/kubedoc"
	"github.com/raygate/raygate/pkg/kubedoc/mistake"
)

// Tree returns the JSON of a message as unstructured.Unstructured keeps it. It fails only for a number that JSON does not have.
func Tree(m proto.Message) (map[string]any, error) {
	data, err := codec.AppendJSON(nil, m)
	if err != nil {
		return nil, err
	}
	return document.ParseTree(data)
}

// Decode writes the JSON of a resource of the given kind into the Go type that into points to, and returns every mistake in it, with its path.
// With mistakes the object is incomplete and only good for finding more of them by validation. An absent apiVersion or kind is filled in.
func Decode(tree map[string]any, kind string, into any) field.ErrorList {
	full := maps.Clone(tree)
	errs := kubedoc.Decode(kubedoc.FromJSON(full), into, nil)
	for name, want := range map[string]string{"apiVersion": rayv1.GroupVersion.String(), "kind": kind} {
		if got, ok := full[name].(string); ok && got != "" && got != want {
			errs = append(errs, kubedoc.Problem(field.NewPath(name), mistake.BadFormat, fmt.Sprintf("expected %q, got %q", want, got)))
		}
	}
	return errs
}

// Normalize gives numbers and texts in tree the JSON type that the Go type has for them, where it takes either: an integer beyond 2^53, which a
// Struct cannot hold, comes from a message as text. typed is what Decode made of tree.
func Normalize(tree map[string]any, typed any) error {
	data, err := json.Marshal(typed)
	if err != nil {
		return fmt.Errorf("encoding %T: %w", typed, err)
	}
	want, err := document.ParseTree(data)
	if err != nil {
		return err
	}
	normalize(tree, want)
	return nil
}

func normalize(value, want any) any {
	switch v := value.(type) {
	case map[string]any:
		if w, ok := want.(map[string]any); ok {
			for _, key := range slices.Collect(maps.Keys(v)) {
				v[key] = normalize(v[key], w[key])
			}
		}
	case []any:
		if w, ok := want.([]any); ok && len(w) == len(v) {
			for i := range v {
				v[i] = normalize(v[i], w[i])
			}
		}
	case string:
		if n, ok := want.(int64); ok {
			return n
		}
	}
	return value
}
