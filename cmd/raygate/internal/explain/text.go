package explain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Text is the report for people.
func (r *Report) Text() string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s:%d %s: %s\n", f.File, f.Line, f.Severity, strings.TrimPrefix(f.Field+": "+f.Message, ": "))
	}
	for i := range r.Pods {
		r.Pods[i].write(&b)
	}
	if len(r.Pods) == 0 {
		b.WriteString("no Pods that request shared accelerators\n")
	}
	return b.String()
}

func (p *Pod) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s:%d %s %s", p.File, p.Line, p.Kind, strings.TrimPrefix(p.Namespace+"/"+p.Name, "/"))
	if p.Group != "" {
		fmt.Fprintf(b, ", %s (%s)", p.Group, p.Path)
	}
	b.WriteString("\n")
	line := func(format string, args ...any) { fmt.Fprintf(b, "  "+format+"\n", args...) }
	for _, text := range p.devices() {
		line("%s", text)
	}
	if p.LeftAlone {
		line("is left as it is, by the label devices.ray.io/webhook of the Pod or its Namespace")
	}
	for _, op := range p.Changes {
		value, err := json.Marshal(op.Value)
		if err == nil {
			line("%s %s: %s", op.Op, op.Path, value)
		}
	}
	if p.Ray != nil {
		line("Ray: %s", p.Ray)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Demand)) {
		line("takes of quotas: %s %s", name, p.Demand[name])
	}
	for _, text := range p.Warnings {
		line("warning: %s", text)
	}
	for _, text := range p.Refused {
		line("refused: %s", text)
	}
	for _, text := range p.Quotas {
		line("exceeds: %s", text)
	}
	if len(p.Devices)+len(p.Changes)+len(p.Refused)+len(p.Warnings) == 0 {
		line("stays as it is")
	}
}

// devices are the devices in words, those of claims last.
func (p *Pod) devices() (all []string) {
	for i := range p.Devices {
		all = append(all, describe(&p.Devices[i]))
	}
	if len(p.Claims) > 0 {
		all = append(all, "claims: "+p.Claims.String())
	}
	return all
}

// describe is a device in words.
func describe(d *Device) string {
	parts := []string{fmt.Sprintf("container %s: %s × %d", d.Container, d.Family, d.Count)}
	for _, size := range []struct {
		n    int64
		unit string
	}{{d.MemoryMiB, " MiB"}, {d.MemoryPercent, "% of the memory"}, {d.Cores, " cores"}} {
		if size.n > 0 {
			parts = append(parts, fmt.Sprint(size.n)+size.unit)
		}
	}
	if d.Shared {
		parts = append(parts, "shared")
	}
	return strings.Join(parts, ", ")
}

// String names start parameters.
func (r *Ray) String() string {
	var parts []string
	if r.GPUs != nil {
		text := fmt.Sprintf("num-gpus %d", *r.GPUs)
		if r.Kept {
			text += " (the user's)"
		}
		parts = append(parts, text)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Resources)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, r.Resources[name]))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
