// Package check gives the verdict on one document of a manifest: strict decoding, schema defaults, the rules.
package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/raygate/raygate/cmd/raygate/internal/manifest"
	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
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
	case version != rayv1.GroupVersion.Version:
		r.add(Error, "apiVersion", fmt.Sprintf("unknown version %q; use %s", h.APIVersion, rayv1.GroupVersion), "")
		return Result{Findings: r.findings}
	}
	apply(&r, checks, doc.JSON, o)
	return Result{Checked: true, Findings: r.findings}
}

// apply gives the verdict of the rules on an object of a known kind.
func apply(r *reporter, checks validation.Checks, data []byte, o validation.Options) {
	object := checks.New()
	strict, err := decode(data, object)
	for _, problem := range strict {
		r.addDecoding(problem)
	}
	if err != nil {
		r.addDecoding(err)
		return
	}
	checks.SetDefaults(object)
	verdict := checks.Create(object, o)
	for _, v := range validation.Violations(verdict.Errors) {
		r.add(Error, v.Field, v.Message, v.Rule)
	}
	for _, v := range validation.Violations(verdict.Warnings) {
		r.add(Warning, v.Field, v.Message, v.Rule)
	}
}

// decode reads as strictly as the API server with field validation Strict. The error is for what cannot be read at all.
func decode(data []byte, into any) (strict []error, err error) {
	// The types of Kubernetes parse quantities and times on the way; none of them may end the program.
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the object cannot be decoded")
		}
	}()
	return kjson.UnmarshalStrict(data, into)
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

// addDecoding says in words of the user what the decoder says in words of Go.
func (r *reporter) addDecoding(err error) {
	if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		r.add(Error, wrongType.Field, fmt.Sprintf("cannot be a %s; a %s is needed", wrongType.Value, wantedType(wrongType)), "")
		return
	}
	if strictErr, ok := errors.AsType[kjson.FieldError](err); ok {
		message := "is not a field of this object; look for a misspelling or wrong indentation"
		if strings.HasPrefix(err.Error(), "duplicate") {
			message = "is given twice; keep one"
		}
		r.add(Error, strictErr.FieldPath(), message, "")
		return
	}
	r.add(Error, "", strings.TrimPrefix(err.Error(), "json: "), "")
}

func wantedType(err *json.UnmarshalTypeError) string {
	switch kind := err.Type.Kind().String(); {
	case kind == "slice" || kind == "array":
		return "list"
	case kind == "map" || kind == "struct":
		return "map"
	case strings.HasPrefix(kind, "int") || strings.HasPrefix(kind, "uint"):
		return "whole number of type " + kind
	case strings.HasPrefix(kind, "float"):
		return "number"
	default:
		return kind
	}
}
