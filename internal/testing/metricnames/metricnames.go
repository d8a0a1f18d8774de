// Package metricnames lists the metrics that a process registers, with their labels and help, so that dashboards and alerts can be compared with
// them (observability/metrics) and docs/metrics.md can be generated. Only _test.go files may import it.
package metricnames

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// described are the name, the quoted help, the constant labels and the variable labels in the text of a description, which has no other way in.
var described = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: (".*"), unit: ".*", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// everywhere are the metrics of the process that every operating system has.
var everywhere = []string{"process_cpu_seconds_total", "process_resident_memory_bytes"}

// List returns a line for each metric of the registry, except those of the Go runtime, as "name{label,label} help", sorted.
func List(registry any) ([]string, error) {
	collector, ok := registry.(prometheus.Collector)
	if !ok {
		return nil, fmt.Errorf("%T does not describe what is registered", registry)
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		collector.Describe(descs)
		close(descs)
	}()
	var lines []string
	var problem error
	for desc := range descs {
		m := described.FindStringSubmatch(desc.String())
		if m == nil {
			problem = fmt.Errorf("cannot read %s", desc)
			continue
		}
		help, err := strconv.Unquote(m[2])
		if err != nil {
			problem = fmt.Errorf("help of %s: %w", m[1], err)
		}
		if name := m[1]; !strings.HasPrefix(name, "go_") && (!strings.HasPrefix(name, "process_") || slices.Contains(everywhere, name)) {
			lines = append(lines, name+"{"+strings.Join(labels(m[3], m[4]), ",")+"} "+strings.Join(strings.Fields(help), " "))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), problem
}

func labels(constant, variable string) []string {
	var names []string
	for pair := range strings.SplitSeq(constant, ",") {
		if name, _, ok := strings.Cut(pair, "="); ok {
			names = append(names, name)
		}
	}
	for name := range strings.SplitSeq(variable, ",") {
		if name = strings.TrimSuffix(strings.TrimPrefix(name, "c("), ")"); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
