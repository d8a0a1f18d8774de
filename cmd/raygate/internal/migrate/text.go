package migrate

import (
	"fmt"
	"io"
	"strings"

	"github.com/raygate/raygate/cmd/raygate/internal/output"
)

// sections are the parts of the text, each with its title and the text in front of its findings.
var sections = []struct {
	area    Area
	title   string
	summary func(r *Report, b *strings.Builder)
}{
	{AreaCRDs, "CRDs", (*Report).writeCRDs},
	{AreaObjects, "Objects", (*Report).writeObjects},
	{AreaSettings, "Settings of the running operator", (*Report).writeOperators},
	{AreaRights, "Rights", (*Report).writeRights},
	{AreaBack, "The way back", (*Report).writeBack},
}

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error { return output.Report(w, r) }

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, s := range sections {
		b.WriteString(s.title + "\n")
		s.summary(r, &b)
		last := ""
		for _, f := range r.Findings {
			if f.Area != s.area {
				continue
			}
			if object := f.object(); object != last {
				if last = object; object != "" {
					b.WriteString("  " + object + "\n")
				}
			}
			writeFinding(&b, f)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s, %s", output.Count(r.Errors, "error"), output.Count(r.Warnings, "warning"))
	if r.Errors > 0 {
		b.WriteString("; errors have to be mended before raygate takes over")
	}
	b.WriteString(". Nothing was written to the cluster.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func writeFinding(b *strings.Builder, f Finding) {
	b.WriteString("    " + string(f.Severity) + ": ")
	if f.Field != "" {
		b.WriteString(f.Field + ": ")
	}
	b.WriteString(f.Message)
	if f.Rule != "" {
		b.WriteString(" [" + f.Rule + "]")
	}
	b.WriteString("\n")
	if f.Remedy != "" && !strings.Contains(f.Message, f.Remedy) {
		b.WriteString("      what to do: " + f.Remedy + "\n")
	}
}

func (r *Report) writeCRDs(b *strings.Builder) {
	for _, c := range r.CRDs {
		if c.Installed {
			fmt.Fprintf(b, "  %s: %s's; served %s, stored %s; storedVersions %s\n", c.Name, c.Of, strings.Join(c.Served, ", "), c.Stored, strings.Join(c.StoredVersions, ", "))
		}
	}
}

func (r *Report) writeObjects(b *strings.Builder) {
	for _, o := range r.Objects {
		fmt.Fprintf(b, "  %s: %d, of which %d with errors, %d with warnings\n", o.Kind, o.Count, o.Refused, o.Warned)
	}
}

func (r *Report) writeOperators(b *strings.Builder) {
	for _, o := range r.Operators {
		fmt.Fprintf(b, "  Deployment %s/%s: %s, %s, ServiceAccount %s\n", o.Namespace, o.Name, o.Image, output.Count(int(o.Replicas), "replica"), o.ServiceAccount)
		for _, s := range o.Settings {
			writeSetting(b, s)
		}
	}
}

func (r *Report) writeRights(b *strings.Builder) {
	if r.Rights.ServiceAccount != "" {
		fmt.Fprintf(b, "  ServiceAccount %s: %s checked, %s with verbs missing\n", r.Rights.ServiceAccount, output.Count(r.Rights.Checked, "right"), output.Count(len(r.Rights.Missing), "resource"))
	}
}

func (r *Report) writeBack(b *strings.Builder) {
	if len(r.Back) == 0 {
		b.WriteString("  nothing on the objects that KubeRay does not know\n")
	}
	for _, c := range r.Back {
		fmt.Fprintf(b, "  %s, on %s: %s\n", c.What, output.Count(c.Objects, "object"), c.Effect)
	}
}

func writeSetting(b *strings.Builder, s Setting) {
	fmt.Fprintf(b, "    %s %s", s.From, s.Name)
	if s.Value != "" {
		b.WriteString("=" + s.Value)
	}
	switch {
	case s.Here == s.Name:
		b.WriteString(": the same here")
	case s.Here != "":
		b.WriteString(": here " + s.Here)
	default:
		b.WriteString(": no equal here")
	}
	b.WriteString(suffix(s.Note) + "\n")
}

func suffix(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}
