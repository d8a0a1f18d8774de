package webhook

import (
	"encoding/json"
	"fmt"

	"github.com/raygate/raygate/pkg/validation"
)

// kind contains the checks of one kind. Each kind has its own webhook in the manifests, so that it can be disabled.
type kind struct{ validation.Checks }

func (k kind) decode(raw []byte) (validation.Object, error) {
	obj := k.New()
	if err := json.Unmarshal(raw, obj); err != nil {
		return nil, err
	}
	return obj, nil
}

// validate validates a new object. before is the old object; empty on create.
func (k kind) validate(obj validation.Object, before []byte, o validation.Options) validation.Verdict {
	// Objects that were written through v1alpha1 lack the defaults of fields that only v1 has.
	k.SetDefaults(obj)
	was, err := k.decode(before)
	if err != nil {
		// There is no stored object, or it cannot be decoded; then any new version is at least as good.
		return k.Create(obj, o)
	}
	k.SetDefaults(was)
	return k.Update(obj, was, o)
}

// defaulted returns the JSON of the object's Go type, without and with defaults.
func (k kind) defaulted(raw []byte) (plain, filled []byte, err error) {
	obj, err := k.decode(raw)
	if err != nil {
		return nil, nil, err
	}
	if plain, err = json.Marshal(obj); err != nil {
		return nil, nil, fmt.Errorf("encoding a %s: %w", k.Kind, err)
	}
	k.SetDefaults(obj)
	if filled, err = json.Marshal(obj); err != nil {
		return nil, nil, fmt.Errorf("encoding a %s: %w", k.Kind, err)
	}
	return plain, filled, nil
}
