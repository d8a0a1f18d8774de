// Package check gives the verdict on one document of a manifest: strict decoding, schema defaults, the rules.
package check

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/cmd/raygate/internal/manifestfile"
	"github.com/raygate/raygate/pkg/manifest"
	"github.com/raygate/raygate/pkg/manifest/problem"
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
	// Line and Column are the position of Field in the file, or of the nearest field; both count from 1. Column is 0 if only the line is
	// known.
	Line   int `json:"line"`
	Column int `json:"column,omitempty"`
	// Document counts from 1, DocumentLine is where it begins in the file.
	Document     int `json:"document"`
	DocumentLine int `json:"documentLine"`
	// Item counts the items of a list from 1.
	Item      int      `json:"item,omitempty"`
	Kind      string   `json:"kind,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name,omitempty"`
	Severity  Severity `json:"severity"`
	// Field is the path; empty if the finding is about the whole document.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	// Rule is the id of the rule; see docs/validation.md. Empty for decoding.
	Rule string `json:"rule,omitempty"`
}

// Result is the verdict on one document.
type Result struct {
	// Checked reports whether the rules for Ray objects were applied.
	Checked bool
	// Unreadable reports that the document is not valid YAML or JSON.
	Unreadable bool
	Findings   []Finding
}

// Version is the version of the group that objects are written in.
var Version = rayv1.GroupVersion.String()

// oldVersion is served for old clients, of the kinds that are older than v1.
const oldVersion = "v1alpha1"

// Header is the identity of an object. Kind is empty if the document cannot be read as a Ray object; the findings give the reason.
type Header struct {
	Kind, Namespace, Name string
	// Unreadable reports that the document is not valid YAML or JSON.
	Unreadable bool
	Findings   []Finding
}

// Document checks one document. It never fails: each problem is a finding. If devices is nil, device admission is not checked.
func Document(doc manifestfile.Document, o validation.Options, devices *Devices) Result {
	r, checks, h := begin(doc)
	if h.Kind == "" {
		return Result{Unreadable: h.Unreadable, Findings: r.findings}
	}
	apply(r, checks, doc, o, devices)
	return Result{Checked: true, Findings: r.findings}
}

// Form checks whether a document is a Ray object, and its form: problems that a server cannot report because the object cannot be sent. The
// server checks the rules.
func Form(doc manifestfile.Document) Header {
	r, checks, h := begin(doc)
	if h.Kind != "" {
		_, form, err := decode(checks, doc)
		if err != nil {
			r.add(Error, "", err.Error(), "")
		}
		r.addAll(form)
	}
	h.Findings = r.findings
	return h
}

// begin reads the head of a document.
func begin(doc manifestfile.Document) (*reporter, validation.Checks, Header) {
	r := &reporter{doc: doc, base: Finding{File: doc.Source, Document: doc.Index, DocumentLine: doc.Line, Item: doc.Item}}
	if doc.Unreadable {
		r.addAll(doc.Mistakes)
		return r, validation.Checks{}, Header{Unreadable: true}
	}
	// Metadata of every object; strict decoding reports its errors.
	u := unstructured.Unstructured{Object: doc.Tree}
	kind, apiVersion := u.GetKind(), u.GetAPIVersion()
	r.base.Kind, r.base.Namespace, r.base.Name = kind, u.GetNamespace(), cmp.Or(u.GetName(), u.GetGenerateName())
	if kind == "" || apiVersion == "" {
		r.add(Error, "", "is no Kubernetes object: apiVersion and kind are needed, as text, in an object", "")
		return r, validation.Checks{}, Header{}
	}
	group, version, _ := strings.Cut(apiVersion, "/")
	checks, known := validation.ForKind(kind)
	switch {
	case group != rayv1.GroupVersion.Group:
		r.addAll(doc.Mistakes)
		r.add(Note, "", "skipped, not a Ray object", "")
		return r, checks, Header{}
	case !known:
		r.add(Error, "kind", fmt.Sprintf("unknown kind %q; the kinds of ray.io are RayCluster, RayCronJob, RayJob and RayService", kind), "")
		return r, checks, Header{}
	case version == oldVersion && kind != "RayCronJob":
		// KubeRay serves it, and its fields are the same as in v1.
		r.add(Warning, "apiVersion", fmt.Sprintf("%s is deprecated and lacks fields; use %s", apiVersion, rayv1.GroupVersion), "")
	case version != rayv1.GroupVersion.Version:
		r.add(Error, "apiVersion", fmt.Sprintf("unknown version %q; use %s", apiVersion, rayv1.GroupVersion), "")
		return r, checks, Header{}
	}
	return r, checks, Header{Kind: kind, Namespace: r.base.Namespace, Name: r.base.Name}
}

// apply checks an object of a known kind against the rules, and reports all problems of its form.
func apply(r *reporter, checks validation.Checks, doc manifestfile.Document, o validation.Options, devices *Devices) {
	object, form, err := decode(checks, doc)
	if err != nil {
		r.add(Error, "", err.Error(), "")
		return
	}
	checks.SetDefaults(object)
	verdict := checks.Create(object, o)
	for _, v := range validation.Violations(manifest.Join(form, verdict.Errors)) {
		rule := v.Rule
		if slices.ContainsFunc(form, func(f *field.Error) bool { return f.Field == v.Field && f.Origin == rule }) {
			rule = "" // a decoder's reason is not a rule
		}
		r.add(Error, v.Field, v.Message, rule)
	}
	for _, v := range validation.Violations(manifest.Join(form, verdict.Warnings)[len(form):]) {
		r.add(Warning, v.Field, v.Message, v.Rule)
	}
	if len(form) == 0 {
		devices.check(r, object)
	}
}

// decode reads as strictly as the API server with field validation Strict, and returns the mistakes in the form with their paths. It
// returns the readable part of an object with mistakes. err means that nothing could be decoded.
func decode(checks validation.Checks, doc manifestfile.Document) (object validation.Object, form field.ErrorList, err error) {
	// The types of Kubernetes parse quantities and times on the way; none of them may end the program.
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the object cannot be decoded")
		}
	}()
	readable := checks.New()
	wrong := manifest.Join(manifest.Decode(doc.Tree, readable, nil), validation.GroupsWithoutName(doc.Tree))
	form = slices.Concat(doc.Mistakes, wrong)
	if len(wrong) > 0 {
		return readable, form, nil
	}
	// Decode a well-formed object as the other programs do: some rules distinguish an empty list from an absent one. The tree no longer has
	// very long numbers, which would be slow to parse as quantities.
	object = checks.New()
	data, err := json.Marshal(doc.Tree)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the object: %w", err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, object); err != nil {
		return readable, append(form, goProblem(err)), nil
	}
	return object, form, nil
}

func problemAt(path, reason, detail string) *field.Error {
	problem := manifest.Problem(nil, reason, detail)
	problem.Field = path
	return problem
}

// goProblem converts an error of Go's decoder, for values that package manifest accepts and Go does not, into a message for users.
func goProblem(err error) *field.Error {
	if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return problemAt(wrongType.Field, problem.WrongType, problem.Type(wrongType.Type.Kind().String(), wrongType.Value))
	}
	return problemAt("", problem.BadFormat, strings.TrimPrefix(err.Error(), "json: "))
}

type reporter struct {
	doc      manifestfile.Document
	base     Finding
	findings []Finding
}

// addAll adds mistakes in the form.
func (r *reporter) addAll(form field.ErrorList) {
	for _, v := range validation.Violations(form) {
		r.add(Error, v.Field, v.Message, "")
	}
}

func (r *reporter) add(severity Severity, path, message, rule string) {
	f := r.base
	f.Severity, f.Field, f.Message, f.Rule = severity, path, message, rule
	at := r.doc.Position(path, message)
	f.Line, f.Column = at.Line, at.Column
	r.findings = append(r.findings, f)
}
