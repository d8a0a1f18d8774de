package load

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/devices"
	"github.com/raygate/raygate/pkg/devices/plan"
)

// MaxBytes is the largest size of a file, as of a ConfigMap.
const MaxBytes = 1 << 20

// Registry reads a registry and reports all problems in it. It finally plans a corpus of containers of each family. A family whose plan
// changes its own result is refused, because webhooks are called again.
func Registry(data []byte) (*plan.Program, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("is %d bytes, but must be at most %d", len(data), MaxBytes)
	}
	r, mistakes := devices.Decode(data)
	if r != nil {
		mistakes = devices.Validate(r)
	}
	if len(mistakes) > 0 {
		return nil, joined(mistakes)
	}
	if err := tryOut(r); err != nil {
		return nil, err
	}
	return plan.Compile(r, devices.Hash(data)), nil
}

func joined(mistakes field.ErrorList) error {
	errs := make([]error, len(mistakes))
	for i, m := range mistakes {
		errs[i] = m
	}
	return errors.Join(errs...)
}
