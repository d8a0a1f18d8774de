package migrate

import "cmp"

// Severity is the effect of a finding on the change of operators.
type Severity string

const (
	// Error has to be mended before: raygate would not start, or would not act on the object.
	Error Severity = "error"
	// Warning works, but perhaps not as meant.
	Warning Severity = "warning"
	// Note is worth knowing.
	Note Severity = "note"
)

// Area is the part of the report that a finding belongs to.
type Area string

// The areas, in the order of the report.
const (
	AreaCRDs     Area = "crds"
	AreaObjects  Area = "objects"
	AreaSettings Area = "settings"
	AreaRights   Area = "rights"
	AreaBack     Area = "back"
)

// Finding is one result about the cluster.
type Finding struct {
	Area     Area     `json:"area"`
	Severity Severity `json:"severity"`
	// Kind, Namespace and Name identify the object; empty for findings without an object.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Field is the path in the object, or the name of a setting.
	Field string `json:"field,omitempty"`
	// Rule is the id of a rule; see docs/validation.md.
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
	// Remedy is the remedy for the finding; empty if nothing has to be done, or if the message contains it.
	Remedy string `json:"remedy,omitempty"`
}

// Report is the result of the checks.
type Report struct {
	CRDs      []CRD       `json:"crds"`
	Objects   []Objects   `json:"objects"`
	Operators []Operator  `json:"operators"`
	Rights    Rights      `json:"rights"`
	Back      []BackCount `json:"back"`
	Errors    int         `json:"errors"`
	Warnings  int         `json:"warnings"`
	Findings  []Finding   `json:"findings"`
}

// Objects counts the objects of a kind.
type Objects struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	// Refused and Warned count objects, not findings.
	Refused int `json:"refused"`
	Warned  int `json:"warned"`
}

func newReport() *Report {
	return &Report{CRDs: []CRD{}, Objects: []Objects{}, Operators: []Operator{}, Back: []BackCount{}, Findings: []Finding{}}
}

func (r *Report) add(f Finding) {
	switch f.Severity {
	case Error:
		r.Errors++
	case Warning:
		r.Warnings++
	}
	r.Findings = append(r.Findings, f)
}

// object is the kind and the full name of the finding's object; empty for none.
func (f Finding) object() string {
	if f.Kind == "" {
		return ""
	}
	name := f.Name
	if f.Namespace != "" {
		name = f.Namespace + "/" + name
	}
	return f.Kind + " " + cmp.Or(name, "(all)")
}
