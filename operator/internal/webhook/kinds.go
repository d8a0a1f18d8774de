package webhook

import (
	"encoding/json"
	"fmt"

	"github.com/raygate/raygate/pkg/validation"
)

// kind is what the handlers know about one of the four. Each has a webhook of its own in the manifests, so that one can be
// turned off.
type kind struct{ validation.Checks }

func allKinds() []kind {
	var all []kind
	for _, checks := range validation.AllChecks() {
		all = append(all, kind{checks})
	}
	return all
}

func (k kind) decode(raw []byte) (validation.Object, error) {
	obj := k.New()
	if err := json.Unmarshal(raw, obj); err != nil {
		return nil, err
	}
	return obj, nil
}

// validate checks a new object; before is empty on create.
func (k kind) validate(obj validation.Object, before []byte, o validation.Options) validation.Verdict {
	// Written through v1alpha1 an object arrives without the defaults of fields that only v1 has.
	k.SetDefaults(obj)
	if len(before) == 0 {
		return k.Create(obj, o)
	}
	was, err := k.decode(before)
	if err != nil {
		// What is stored cannot be read; whatever replaces it can only be better.
		return k.Create(obj, o)
	}
	k.SetDefaults(was)
	return k.Update(obj, was, o)
}

// defaulted returns the object as its Go type writes it, without and with defaults.
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
