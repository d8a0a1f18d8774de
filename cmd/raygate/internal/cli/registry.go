package cli

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/devices/shipped"
)

// Names of registries that are not files, and of the flag.
const (
	registryName    = "device-registry"
	shippedRegistry = "shipped"
	noRegistry      = "none"
)

// registryFlag is the registry of families of shared accelerators.
type registryFlag struct {
	source string
	// given means that the user named the registry.
	given bool
}

func (r *registryFlag) add(f *pflag.FlagSet) {
	f.StringVar(&r.source, registryName, shippedRegistry, "file with families of shared accelerators, in the format of the operator's flag; shipped: the built-in registry; none: no registry")
}

// read returns nil for none.
func (r *registryFlag) read() (*plan.Program, error) {
	data := shipped.HAMi
	switch r.source {
	case noRegistry, "":
		return nil, nil
	case shippedRegistry:
	default:
		var err error
		if data, err = os.ReadFile(r.source); err != nil {
			return nil, fmt.Errorf("--%s: %w", registryName, err)
		}
	}
	p, err := load.Registry(data)
	if err != nil {
		return nil, fmt.Errorf("--%s %s: %w", registryName, r.source, err)
	}
	return p, nil
}
