package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raygate/raygate/pkg/devices"
)

// carryOut applies a rule. The problem is the text after the amount in a message, or empty if the rule holds.
func (a *request) carryOut(r *devices.Rule) (problem string) {
	if r.If != nil && !a.holds(r.If) || r.UnlessAnnotation != nil && a.w.pod.has(r.UnlessAnnotation) || !a.when(r.When) {
		return ""
	}
	if problem := a.compute(r); problem != "" || a.get(r.Field) == 0 {
		return problem
	}
	for _, check := range []func(*devices.Rule) string{a.annotated, a.outside, a.roundUp, a.requireOne} {
		if problem := check(r); problem != "" {
			return problem
		}
	}
	return ""
}

// compute fills a field in.
func (a *request) compute(r *devices.Rule) string {
	if r.Positive && a.zeros[r.Field] && a.get(r.Field) == 0 {
		return "0 must be above zero"
	}
	if d := r.DeriveWhenCountAbove; d != nil && a.get(devices.Count) > d.Count {
		if problem := a.derive(r.Field, mul(a.get(devices.Count), d.PerDevice)); problem != "" {
			return problem
		}
	}
	if a.get(r.Field) == 0 {
		a.fillIn(r)
	}
	return ""
}

// annotated returns the problem of a field that needs an annotation.
func (a *request) annotated(r *devices.Rule) string {
	w := r.DenyUnlessAnnotation
	switch {
	case w == nil || a.w.pod.has(w):
		return ""
	case w.Value == "":
		return fmt.Sprintf("needs the annotation %s on the Pod", w.Key)
	default:
		return fmt.Sprintf("needs the annotation %s=%s on the Pod", w.Key, w.Value)
	}
}

// derive computes a field. Another amount of the user contradicts it: neither is right for sure.
func (a *request) derive(f devices.Field, n int64) string {
	if has := a.get(f); has != 0 && has != n {
		return fmt.Sprintf("contradicts %s %d, for which it is %s; write that, or leave it out",
			a.vendor.Resources.Count, a.get(devices.Count), a.vendor.write(f, n))
	}
	if n > devices.MaxAmount {
		return fmt.Sprintf("is for more devices than there can be: %s %d", a.vendor.Resources.Count, a.get(devices.Count))
	}
	a.set(f, n)
	return ""
}

func (a *request) fillIn(r *devices.Rule) {
	n := r.Absent
	if n == 0 {
		return
	}
	if r.PerDevice {
		n = mul(n, max(1, a.get(devices.Count)))
	}
	a.set(r.Field, min(n, devices.MaxAmount))
}

// outside describes a valid amount, or returns "" if the amount is valid.
func (a *request) outside(r *devices.Rule) string {
	n := a.get(r.Field)
	if len(r.Range) == 2 && (n < r.Range[0] || n > r.Range[1]) {
		return fmt.Sprintf("must be from %d to %d", r.Range[0], r.Range[1])
	}
	if len(r.OneOf) > 0 && !slices.Contains(r.OneOf, n) {
		return "must be one of " + list(r.OneOf)
	}
	if m := r.MultipleOf; m > 0 && n%m != 0 && !slices.Contains(r.Also, n) {
		text := fmt.Sprintf("must be a multiple of %d", m)
		if len(r.Also) > 0 {
			text += ", or " + list(r.Also)
		}
		return text
	}
	return ""
}

func (a *request) roundUp(r *devices.Rule) string {
	if len(r.RoundUpTo) == 0 {
		return ""
	}
	n := a.get(r.Field)
	last := r.RoundUpTo[len(r.RoundUpTo)-1]
	if n > last {
		if r.Above != devices.Clamp {
			return fmt.Sprintf("is more than there is: at most %d", last)
		}
		a.set(r.Field, last)
		return ""
	}
	at, _ := slices.BinarySearch(r.RoundUpTo, n)
	a.set(r.Field, r.RoundUpTo[at])
	return ""
}

func (a *request) requireOne(r *devices.Rule) string {
	w := r.RequireOneWhen
	if w == nil || a.get(devices.Count) <= 1 {
		return ""
	}
	if _, annotated := a.w.pod.annotations[w.Annotation]; w.Annotation != "" && annotated {
		return fmt.Sprintf("must be 1 in Pods with the annotation %s", w.Annotation)
	}
	if n := a.get(w.Field); w.Field != "" && n != 0 && n != w.NotEqual {
		return fmt.Sprintf("must be 1, unless %s is %d: it is %d", a.vendor.Resources.Name(w.Field), w.NotEqual, n)
	}
	return ""
}

// holds reports whether a condition is met.
func (a *request) holds(c *devices.Condition) bool {
	n := a.get(c.Field)
	return (c.Equals == nil || n == *c.Equals) && (c.Above == nil || n > *c.Above) && (!c.Absent || n == 0)
}

func list(amounts []int64) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(amounts)), ", "), "[]")
}
