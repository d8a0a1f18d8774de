// Package check gives the verdict on one document of a manifest: strict decoding, schema defaults, the rules.
package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/cmd/raygate/internal/manifest"
	"github.com/raygate/raygate/pkg/kubedoc"
	"github.com/raygate/raygate/pkg/kubedoc/mistake"
	"github.com/raygate/raygate/pkg/validation"
)

// Severity of a finding.
type Severity string

const (
	// Error means that the object would be refused, or does not run.
	Error Severity = "error"
	// Warning means that the object works, but perhaps not as meant.
	Warning Severity = "warning"
	// Note means that the object was not checked, and why.
	Note Severity = "note"
)

// Finding is one line of the report.
type Finding struct {
	File string `json:"file"`
	// Document counts from 1, Line is where it begins in the file.
	Document int `json:"document"`
	Line     int `json:"line"`
	// Item counts the items of a list from 1.
	Item      int      `json:"item,omitempty"`
	Kind      string   `json:"kind,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name,omitempty"`
	Severity  Severity `json:"severity"`
	// Field is the path; empty when the finding is about the whole document.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	// Rule is the id of the rule; see docs/validation.md. Empty for decoding.
	Rule string `json:"rule,omitempty"`
}

// Result is the verdict on one document.
type Result struct {
	// Checked tells whether the rules for Ray objects were applied.
	Checked bool
	// Unreadable tells that the document is no YAML or JSON at all.
	Unreadable bool
	Findings   []Finding
}

// header is what every object has. Errors in it are told by the strict decoding.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace    string `json:"namespace"`
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
	} `json:"metadata"`
}

// oldVersion is served for old clients.
const oldVersion = "v1alpha1"

// Document checks one document. It never fails: whatever is wrong is a finding.
func Document(doc manifest.Document, o validation.Options) Result {
	r := reporter{base: Finding{File: doc.Source, Document: doc.Index, Line: doc.Line, Item: doc.Item}}
	if doc.Problem != nil {
		r.add(Error, "", doc.Problem.Error(), "")
		return Result{Unreadable: doc.Unreadable, Findings: r.findings}
	}
	var h header
	// A wrong type in the header leaves it partly filled, which is good enough for a heading.
	headerErr := kjson.UnmarshalCaseSensitivePreserveInts(doc.JSON, &h)
	r.base.Kind, r.base.Namespace, r.base.Name = h.Kind, h.Metadata.Namespace, h.Metadata.Name
	if r.base.Name == "" {
		r.base.Name = h.Metadata.GenerateName
	}
	if h.Kind == "" || h.APIVersion == "" {
		message := "is no Kubernetes object: apiVersion and kind are needed"
		if headerErr != nil {
			message += ", as text, in an object" // the error itself is about Go types
		}
		r.add(Error, "", message, "")
		return Result{Findings: r.findings}
	}
	group, version, _ := strings.Cut(h.APIVersion, "/")
	checks, known := validation.ForKind(h.Kind)
	switch {
	case group != rayv1.GroupVersion.Group:
		r.add(Note, "", "skipped, not a Ray object", "")
		return Result{Findings: r.findings}
	case !known:
		r.add(Error, "kind", fmt.Sprintf("unknown kind %q; the kinds of ray.io are RayCluster, RayCronJob, RayJob and RayService", h.Kind), "")
		return Result{Findings: r.findings}
	case version == oldVersion:
		// KubeRay serves it, and its fields are those of v1.
		r.add(Warning, "apiVersion", fmt.Sprintf("%s is deprecated and lacks fields; use %s", h.APIVersion, rayv1.GroupVersion), "")
	case version != rayv1.GroupVersion.Version:
		r.add(Error, "apiVersion", fmt.Sprintf("unknown version %q; use %s", h.APIVersion, rayv1.GroupVersion), "")
		return Result{Findings: r.findings}
	}
	apply(&r, checks, doc.JSON, o)
	return Result{Checked: true, Findings: r.findings}
}

// apply gives the verdict of the rules on an object of a known kind, with all that is wrong with its form.
func apply(r *reporter, checks validation.Checks, data []byte, o validation.Options) {
	object, form, err := decode(checks, data)
	if err != nil {
		r.add(Error, "", err.Error(), "")
		return
	}
	checks.SetDefaults(object)
	verdict := checks.Create(object, o)
	for _, v := range validation.Violations(kubedoc.Join(form, verdict.Errors)) {
		rule := v.Rule
		if slices.ContainsFunc(form, func(f *field.Error) bool { return f.Field == v.Field && f.Origin == rule }) {
			rule = "" // the word of a decoder is no rule
		}
		r.add(Error, v.Field, v.Message, rule)
	}
	for _, v := range validation.Violations(kubedoc.Join(form, verdict.Warnings)[len(form):]) {
		r.add(Warning, v.Field, v.Message, v.Rule)
	}
}

// decode reads as strictly as the API server with field validation Strict, and returns the mistakes in the form with their
// paths. Of an object with mistakes it returns what could be read. The error is for what has no form at all.
func decode(checks validation.Checks, data []byte) (object validation.Object, form field.ErrorList, err error) {
	// The types of Kubernetes parse quantities and times on the way; none of them may end the program.
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the object cannot be decoded")
		}
	}()
	tree, form := kubedoc.Read(data, false)
	if tree == nil {
		return nil, nil, errors.New(form[0].Detail)
	}
	readable := checks.New()
	wrong := kubedoc.Join(kubedoc.Decode(tree, readable, nil), validation.GroupsWithoutName(tree))
	form = append(form, wrong...)
	if len(wrong) > 0 {
		return readable, form, nil
	}
	// What has a good form is read as the other programs read it: an empty list is not an absent one to all rules. The
	// tree has no numbers of a thousand digits any more, which quantities would take their time for.
	object = checks.New()
	if data, err = json.Marshal(tree); err != nil {
		return nil, nil, fmt.Errorf("encoding the object: %w", err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, object); err != nil {
		return readable, append(form, goProblem(err)), nil
	}
	return object, form, nil
}

func problemAt(path, reason, detail string) *field.Error {
	problem := kubedoc.Problem(nil, reason, detail)
	problem.Field = path
	return problem
}

// goProblem says in words of the user what the decoder of Go says, of values that package kubedoc takes and it does not.
func goProblem(err error) *field.Error {
	if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return problemAt(wrongType.Field, mistake.WrongType, mistake.Type(wrongType.Type.Kind().String(), wrongType.Value))
	}
	return problemAt("", mistake.BadFormat, strings.TrimPrefix(err.Error(), "json: "))
}

type reporter struct {
	base     Finding
	findings []Finding
}

func (r *reporter) add(severity Severity, path, message, rule string) {
	f := r.base
	f.Severity, f.Field, f.Message, f.Rule = severity, path, message, rule
	r.findings = append(r.findings, f)
}
