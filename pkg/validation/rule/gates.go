package rule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseGates reads settings such as "RayClusterMTLS=true" into Options.Gates. Settings may be joined by commas; the last one of a gate counts. The
// error names every setting that is malformed or whose gate no rule asks for. Gates that the operator knows and rules do not are among the latter,
// so that a misspelt one is not taken for a harmless one.
func ParseGates(settings ...string) (map[Gate]bool, error) {
	gates := map[Gate]bool{}
	var errs []error
	for setting := range strings.SplitSeq(strings.Join(settings, ","), ",") {
		if strings.TrimSpace(setting) == "" {
			continue
		}
		name, value, _ := strings.Cut(setting, "=")
		gate := Gate(strings.TrimSpace(name))
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("feature gate %q: use NAME=true or NAME=false", setting))
		case !gate.Known():
			errs = append(errs, fmt.Errorf("feature gate %q: no rule asks for it", gate))
		default:
			gates[gate] = on
		}
	}
	return gates, errors.Join(errs...)
}
