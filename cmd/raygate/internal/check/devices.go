package check

import (
	"github.com/raygate/raygate/cmd/raygate/internal/manifestfile"
	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/raydevices"
	"github.com/raygate/raygate/pkg/validation"
)

// Devices is the registry of shared accelerators that Pods are planned with.
type Devices struct {
	Program *plan.Program
	// Installed means that the cluster has device admission with this registry: an object that it refuses is an error, and its warnings are
	// shown. Otherwise that is unknown, and what it would refuse is a warning.
	Installed bool
	Options   raydevices.Options
}

// check adds the results of device admission for the Pods of the object. A nil Devices adds nothing.
func (d *Devices) check(r *reporter, object validation.Object) {
	if d == nil {
		return
	}
	for _, f := range raydevices.Check(d.Program, object, d.Options) {
		switch {
		case f.Refused && d.Installed:
			r.add(Error, f.Field.String(), "device admission refuses the Pods of "+f.Group+": "+f.Message, "")
		case f.Refused:
			r.add(Warning, f.Field.String(), "device admission, where it is installed, refuses the Pods of "+f.Group+": "+f.Message, "")
		case d.Installed:
			r.add(Warning, f.Field.String(), f.Message, "")
		}
	}
}

// Object decodes a document of a Ray kind, with the defaults of its schema. If there is none, the findings have the reasons.
func Object(doc manifestfile.Document) (validation.Object, Result) {
	r, checks, h := begin(doc)
	if h.Kind == "" {
		return nil, Result{Unreadable: h.Unreadable, Findings: r.findings}
	}
	object, form, err := decode(checks, doc)
	if err != nil {
		r.add(Error, "", err.Error(), "")
	}
	r.addAll(form)
	if err != nil || len(form) > 0 {
		return nil, Result{Findings: r.findings}
	}
	checks.SetDefaults(object)
	return object, Result{Checked: true, Findings: r.findings}
}
