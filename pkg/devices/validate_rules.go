package devices

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/devices/condition"
)

// MaxAmount limits all amounts, so that products of two fit into 64 bits.
const MaxAmount = 1 << 31

func validateRule(v *Vendor, r *Rule, path *field.Path) field.ErrorList {
	errs := known(v, r.Field, path.Child("field"))
	if c := r.If; c != nil {
		errs = append(errs, validateCondition(v, c, path.Child("if"))...)
	}
	errs = append(errs, validateWhen(v, r.When, path.Child("when"))...)
	errs = append(errs, validateAmounts(r, path)...)
	errs = append(errs, oneOf(path.Child("zero"), r.Zero, "", "Absent")...)
	errs = append(errs, oneOf(path.Child("above"), r.Above, "", string(Deny), Clamp)...)
	errs = append(errs, validateTogether(r, path)...)
	if d := r.DeriveWhenCountAbove; d != nil {
		if r.Field == Count || d.Count < 0 || d.PerDevice < 1 || d.PerDevice > MaxAmount || v.Resources.Count == "" {
			errs = append(errs, field.Invalid(path.Child("deriveWhenCountAbove"), d.PerDevice, "must be at least 1 for each device, of another field than count"))
		}
	}
	if w := r.RequireOneWhen; w != nil {
		errs = append(errs, validateOneWhen(v, r, w, path.Child("requireOneWhen"))...)
	}
	if r.empty() {
		errs = append(errs, field.Required(path, "the rule says nothing about its field"))
	}
	for name, a := range map[string]*AnnotationValue{"unlessAnnotation": r.UnlessAnnotation, "denyUnlessAnnotation": r.DenyUnlessAnnotation} {
		if a != nil {
			errs = append(errs, validateKey(a.Key, path.Child(name, "key"))...)
		}
	}
	return errs
}

// empty reports whether the rule has conditions at most.
func (r *Rule) empty() bool {
	checks := r.Range != nil || r.OneOf != nil || r.MultipleOf != 0 || r.Positive || r.RequireOneWhen != nil || r.DenyUnlessAnnotation != nil
	return !checks && r.Zero == "" && r.Absent == 0 && r.RoundUpTo == nil && r.DeriveWhenCountAbove == nil
}

// validateTogether checks fields that need other fields.
func validateTogether(r *Rule, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.Above != "" && len(r.RoundUpTo) == 0 {
		errs = append(errs, field.Invalid(path.Child("above"), r.Above, "is for roundUpTo"))
	}
	if len(r.Also) > 0 && r.MultipleOf == 0 {
		errs = append(errs, field.Invalid(path.Child("also"), r.Also, "is for multipleOf"))
	}
	if r.Positive && r.Zero != "" {
		errs = append(errs, field.Invalid(path.Child("positive"), r.Positive, "contradicts zero: Absent"))
	}
	if r.PerDevice && r.Absent == 0 {
		errs = append(errs, field.Invalid(path.Child("perDevice"), r.PerDevice, "is for absent"))
	}
	return errs
}

func validateOneWhen(v *Vendor, r *Rule, w *OneWhen, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.Field != Count || (w.Field == "") == (w.Annotation == "") {
		errs = append(errs, field.Invalid(path, w.Field, "must be about count, and name a field or an annotation"))
	}
	if w.Field != "" {
		errs = append(errs, known(v, w.Field, path.Child("field"))...)
	}
	if w.Annotation != "" {
		errs = append(errs, validateKey(w.Annotation, path.Child("annotation"))...)
	}
	return errs
}

func isAmount(n int64) bool { return n >= 0 && n <= MaxAmount }

// isAscending reports whether each size is greater than the one before it.
func isAscending(sizes []int64) bool {
	return slices.IsSorted(sizes) && len(slices.Compact(slices.Clone(sizes))) == len(sizes)
}

// validateAmounts checks the numbers of a rule.
func validateAmounts(r *Rule, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.Range != nil && (len(r.Range) != 2 || r.Range[0] > r.Range[1]) {
		errs = append(errs, field.Invalid(path.Child("range"), r.Range, "must be the least and the greatest amount"))
	}
	if !isAmount(r.MultipleOf) {
		errs = append(errs, field.Invalid(path.Child("multipleOf"), r.MultipleOf, "must be positive"))
	}
	if !isAmount(r.Absent) {
		errs = append(errs, field.Invalid(path.Child("absent"), r.Absent, "must be positive"))
	}
	if r.RoundUpTo != nil && (len(r.RoundUpTo) == 0 || !isAscending(r.RoundUpTo)) {
		errs = append(errs, field.Invalid(path.Child("roundUpTo"), r.RoundUpTo, "must be sizes in ascending order"))
	}
	for name, list := range map[string][]int64{"range": r.Range, "oneOf": r.OneOf, "also": r.Also, "roundUpTo": r.RoundUpTo} {
		if slices.ContainsFunc(list, func(n int64) bool { return !isAmount(n) }) {
			errs = append(errs, field.Invalid(path.Child(name), list, "must be amounts from 0 to 2147483648"))
		}
	}
	return errs
}

func validateCondition(v *Vendor, c *Condition, path *field.Path) field.ErrorList {
	errs := known(v, c.Field, path.Child("field"))
	if c.Equals == nil && c.Above == nil && !c.Absent {
		errs = append(errs, field.Required(path, "equals, above or absent"))
	}
	return errs
}

// validateWhen compiles an expression.
func validateWhen(v *Vendor, text string, path *field.Path) field.ErrorList {
	if text == "" {
		return nil
	}
	if _, err := condition.Compile(text, v.FieldNames()); err != nil {
		return field.ErrorList{field.Invalid(path, text, v.Name+": "+err.Error())}
	}
	return nil
}

func known(v *Vendor, f Field, path *field.Path) field.ErrorList {
	if slices.Contains(Fields, f) && v.Resources.Name(f) != "" {
		return nil
	}
	return field.ErrorList{field.Invalid(path, f, "is no field for which the family has a resource")}
}

// templates are the parts of a value that are filled in.
var templates = regexp.MustCompile(`\$\{([^}]*)\}?`)

// validateEnv checks variables. A repeated variable would be written alternately with each of its values.
func validateEnv(v *Vendor, list []Env, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range list {
		e, at := &list[i], path.Index(i)
		for _, problem := range validation.IsEnvVarName(e.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), e.Name, problem))
		}
		if seen[e.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), e.Name))
		}
		seen[e.Name] = true
		errs = append(errs, validateTemplate(v, e.Value, at.Child("value"))...)
		errs = append(errs, validateWhen(v, e.Expression(), at.Child("when"))...)
		errs = append(errs, oneOf(at.Child("conflict"), e.Conflict, "", Keep, Replace, string(Deny))...)
		if e.When == HasPriority && v.Resources.Priority == "" {
			errs = append(errs, field.Invalid(at.Child("when"), e.When, "needs resources.priority"))
		}
	}
	return errs
}

func validateAbsentEnv(v *Vendor, path *field.Path) field.ErrorList {
	errs := validateEnv(&Vendor{Name: v.Name}, v.AbsentEnv, path.Child("absentEnv")) // without amounts
	if v.AbsentEnvGroup != "" {
		for _, problem := range validation.IsDNS1123Label(v.AbsentEnvGroup) {
			errs = append(errs, field.Invalid(path.Child("absentEnvGroup"), v.AbsentEnvGroup, problem))
		}
	}
	return errs
}

// validateTemplate checks the names in braces: a field of the family, or the container.
func validateTemplate(v *Vendor, value string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, m := range templates.FindAllStringSubmatch(value, -1) {
		name := Field(m[1])
		if m[0] == "${container}" || m[0] == "${"+string(name)+"}" && name != MemoryPercent && slices.Contains(Fields, name) && v.Resources.Name(name) != "" {
			continue
		}
		errs = append(errs, field.Invalid(path, value, m[0]+" is no field of the family"))
	}
	return errs
}

func validateAnnotations(v *Vendor, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range v.Annotations {
		a, at := &v.Annotations[i], path.Index(i)
		errs = append(errs, validateKey(a.Key, at.Child("key"))...)
		if seen[a.Key] {
			errs = append(errs, field.Duplicate(at.Child("key"), a.Key))
		}
		seen[a.Key] = true
		errs = append(errs, validateTemplate(v, a.Default, at.Child("default"))...)
		if a.If != nil {
			errs = append(errs, validateCondition(v, a.If, at.Child("if"))...)
		}
		errs = append(errs, validateWhen(v, a.When, at.Child("when"))...)
		if a.Unless != nil {
			errs = append(errs, validateKey(a.Unless.Key, at.Child("unless", "key"))...)
		}
		if a.Default != "" && len(a.OneOf) > 0 && !slices.Contains(a.OneOf, a.Default) {
			errs = append(errs, field.Invalid(at.Child("default"), a.Default, "is none of oneOf"))
		}
		if a.Default == "" && len(a.OneOf) == 0 {
			errs = append(errs, field.Required(at, "default or oneOf"))
		}
	}
	return errs
}

func validateKey(key string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsQualifiedName(key) {
		errs = append(errs, field.Invalid(path, key, problem))
	}
	return errs
}
