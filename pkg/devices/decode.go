package devices

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/manifest"
)

// Decode reads a registry in YAML or JSON. It reports all unknown, repeated and mistyped fields with their paths; the registry is nil if
// there are any. Decode does not check the content: see Validate.
func Decode(data []byte) (*Registry, field.ErrorList) {
	tree, mistakes := manifest.Read(data, true)
	if tree == nil {
		return nil, mistakes
	}
	r := &Registry{}
	mistakes = append(mistakes, manifest.Decode(tree, r, nil)...)
	if r.APIVersion != APIVersion || r.Kind != Kind {
		// In an object of another kind all fields would be unknown, so report only the kind.
		return nil, field.ErrorList{field.Invalid(field.NewPath("kind"), r.APIVersion+" "+r.Kind, "must be "+APIVersion+" "+Kind)}
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return r, nil
}

// Hash identifies the text of a registry, for logs, metrics and audit annotations.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}
