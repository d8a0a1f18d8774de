// Package explain plans the Pods of manifests like device admission, and reports the result with its reasons.
package explain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/raygate/raygate/cmd/raygate/internal/check"
	"github.com/raygate/raygate/cmd/raygate/internal/manifestfile"
	"github.com/raygate/raygate/pkg/devices/claims"
	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/devices/raycount"
	"github.com/raygate/raygate/pkg/manifest"
	"github.com/raygate/raygate/pkg/raydevices"
	"github.com/raygate/raygate/pkg/validation"
)

// Report is about all Pods of the manifests.
type Report struct {
	// Registry is the hash of the registry.
	Registry string `json:"registry"`
	Pods     []Pod  `json:"pods"`
	// Findings are the reasons why documents were not examined.
	Findings []check.Finding `json:"findings"`
	// Unreadable reports that some document is not valid YAML or JSON.
	Unreadable bool `json:"-"`
}

// Pod is the result for one Pod, or for all Pods of a template.
type Pod struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Group and Path are of templates: which group, and where in the object the changes are made.
	Group string `json:"group,omitempty"`
	Path  string `json:"path,omitempty"`
	// AtLeast is the minimum number of Pods of a group.
	AtLeast int64 `json:"atLeast,omitempty"`

	// LeftAlone means that a label of the Pod or of its Namespace prevents device admission from changing it.
	LeftAlone bool `json:"leftAlone,omitempty"`
	// Refused are the reasons why the Pod is refused.
	Refused []string `json:"refused,omitempty"`
	// Warnings are those of device admission, with the reasons for additions, and those about Ray.
	Warnings []string `json:"warnings,omitempty"`
	// Changes are the additions, as a JSON patch below Path.
	Changes []plan.Operation `json:"changes,omitempty"`
	// Devices are the devices that the containers get.
	Devices []Device `json:"devices,omitempty"`
	// Claims are the devices of the ResourceClaims of one Pod, also of those that other Pods share, by the resource of Ray.
	Claims claims.Amounts `json:"claims,omitempty"`
	// Ray has the device settings that the Ray container is started with; nil for Pods without Ray, or without devices.
	Ray *Ray `json:"ray,omitempty"`
	// Demand is the usage of quotas by one Pod, by resource.
	Demand map[string]string `json:"demand,omitempty"`
	// Quotas are the quotas in the manifests that the Pod exceeds.
	Quotas []string `json:"exceeds,omitempty"`
}

// Device is the device of one family that one container gets.
type Device struct {
	Container string `json:"container"`
	Family    string `json:"family"`
	Count     int64  `json:"count"`
	// MemoryMiB, MemoryPercent and Cores are the amounts of each device; 0 if unset.
	MemoryMiB     int64 `json:"memoryMiB,omitempty"`
	MemoryPercent int64 `json:"memoryPercent,omitempty"`
	Cores         int64 `json:"cores,omitempty"`
	// Shared reports whether others may use the rest of the device.
	Shared bool `json:"shared,omitempty"`
}

// Ray are numbers that Ray is started with.
type Ray struct {
	GPUs *int64 `json:"numGPUs,omitempty"`
	// Kept means that the number is the user's.
	Kept      bool             `json:"kept,omitempty"`
	Resources map[string]int64 `json:"resources,omitempty"`
}

// Failed reports whether a Pod is refused, does not fit a quota, or a document is at fault.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Pods, func(p Pod) bool { return len(p.Refused)+len(p.Quotas) > 0 }) ||
		slices.ContainsFunc(r.Findings, func(f check.Finding) bool { return f.Severity == check.Error })
}

// explainer is a report under way.
type explainer struct {
	*Report
	program *plan.Program
	quotas  []corev1.ResourceQuota
	// ignored are namespaces that device admission ignores.
	ignored    map[string]bool
	allocation allocation
}

// Of plans every Pod of the sources.
func Of(p *plan.Program, sources []manifestfile.Source) *Report {
	e := &explainer{Report: &Report{Registry: p.Hash, Pods: []Pod{}, Findings: []check.Finding{}}, program: p, ignored: map[string]bool{}, allocation: newAllocation()}
	var documents []manifestfile.Document
	for _, s := range sources {
		documents = append(documents, manifestfile.Documents(s)...)
	}
	documents = slices.DeleteFunc(documents, e.takeQuota)
	documents = slices.DeleteFunc(documents, e.takeNamespace)
	documents = slices.DeleteFunc(documents, e.takeAllocation)
	for _, doc := range documents {
		e.document(doc)
	}
	return e.Report
}

// isCore reports whether a document is of a kind of the core API.
func isCore(doc manifestfile.Document, kind string) bool {
	u := unstructured.Unstructured{Object: doc.Tree}
	return !doc.Unreadable && u.GetAPIVersion() == "v1" && u.GetKind() == kind
}

// takeQuota keeps a ResourceQuota, and reports whether the document is one.
func (e *explainer) takeQuota(doc manifestfile.Document) bool {
	if !isCore(doc, "ResourceQuota") {
		return false
	}
	var q corev1.ResourceQuota
	if e.decode(doc, &q) {
		e.quotas = append(e.quotas, q)
	}
	return true
}

// takeNamespace notes whether a Namespace is left out, and reports whether the document is one.
func (e *explainer) takeNamespace(doc manifestfile.Document) bool {
	if !isCore(doc, "Namespace") {
		return false
	}
	if u := (unstructured.Unstructured{Object: doc.Tree}); plan.OptsOut(u.GetLabels()) {
		e.ignored[u.GetName()] = true
	}
	return true
}

// decode reads a document into an object of the core API. For one with mistakes it adds them to the findings and returns false.
func (e *explainer) decode(doc manifestfile.Document, into any) bool {
	u := unstructured.Unstructured{Object: doc.Tree}
	wrong := slices.Concat(doc.Mistakes, manifest.Decode(doc.Tree, into, nil))
	for _, w := range wrong {
		at := doc.Position(w.Field, w.ErrorBody())
		e.Findings = append(e.Findings, check.Finding{
			File: doc.Source, Line: at.Line, Column: at.Column, Document: doc.Index, DocumentLine: doc.Line, Item: doc.Item, Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(),
			Severity: check.Error, Field: w.Field, Message: w.ErrorBody(),
		})
	}
	return len(wrong) == 0
}

func (e *explainer) document(doc manifestfile.Document) {
	u := unstructured.Unstructured{Object: doc.Tree}
	base := Pod{File: doc.Source, Line: doc.Line, Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
	if isCore(doc, "Pod") {
		var pod corev1.Pod
		if e.decode(doc, &pod) {
			e.pod(base, &pod)
		}
		return
	}
	object, result := check.Object(doc)
	e.Unreadable = e.Unreadable || result.Unreadable
	e.Findings = append(e.Findings, result.Findings...)
	if object != nil {
		e.groups(base, object)
	}
}

// groups plans the Pods of each group of a Ray object.
func (e *explainer) groups(base Pod, object validation.Object) {
	said := map[string][]string{}
	for _, f := range raydevices.Check(e.program, object, raydevices.Options{}) {
		if !f.Refused {
			said[f.Group] = append(said[f.Group], f.Field.String()+": "+f.Message)
		}
	}
	for _, g := range raydevices.Groups(object) {
		out := base
		out.Group, out.Path, out.AtLeast = g.Name, g.TemplatePath.String(), g.Pods
		r := g.Plan(e.program)
		out.LeftAlone = e.ignored[base.Namespace] || plan.OptsOut(g.Labels)
		e.add(&out, r, g.ForbiddenOptOut(e.program, r))
		out.Warnings = said[g.Name]
		if d := e.claimed(&out, &g.Template.Spec); g.Ray {
			out.Ray = e.ray(r, &g, d)
		}
		if len(out.Devices)+len(out.Claims)+len(out.Refused)+len(out.Warnings)+len(out.Changes) > 0 {
			e.Pods = append(e.Pods, out)
		}
	}
}

func (e *explainer) pod(out Pod, pod *corev1.Pod) {
	data, err := json.Marshal(pod)
	if err != nil {
		return // not reached: it was read from JSON
	}
	read, err := plan.FromJSON(data)
	if err != nil {
		return // not reached either
	}
	r := e.program.Plan(read)
	out.LeftAlone = e.ignored[pod.Namespace] || plan.OptsOut(pod.Labels)
	forbidden := ""
	if len(r.Devices) > 0 {
		forbidden = e.program.ForbidsOptOut(pod.Namespace, pod.Labels)
	}
	e.add(&out, r, forbidden)
	if !out.LeftAlone {
		out.Warnings = r.Warnings
	}
	e.claimed(&out, &pod.Spec)
	e.Pods = append(e.Pods, out)
}

// add records the result of a plan, and why the Pod may not opt out. In an excluded namespace nothing is refused, and no quota is checked.
func (e *explainer) add(out *Pod, r *plan.Result, forbidden string) {
	ignored := e.ignored[out.Namespace]
	if !ignored {
		for _, p := range r.Problems {
			out.Refused = append(out.Refused, p.String())
		}
		if forbidden != "" {
			out.Refused = append(out.Refused, forbidden)
		}
	}
	if !out.LeftAlone {
		out.Changes = r.Operations()
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		out.Devices = append(out.Devices, Device{d.Container, d.Vendor, d.Count, d.MemoryMiB, d.MemoryPercent, d.Cores, d.Shared})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Demand.Totals)) {
		if out.Demand == nil {
			out.Demand = map[string]string{}
		}
		out.Demand[name] = fmt.Sprint(r.Demand.Totals[name]) + e.program.Unit(name)
	}
	if len(out.Refused) == 0 && !ignored {
		e.compare(out, &r.Demand)
	}
}

// compare finds quotas that are too small for the Pod alone.
func (e *explainer) compare(out *Pod, d *plan.Demand) {
	for i := range e.quotas {
		q := &e.quotas[i]
		if q.Namespace != out.Namespace && q.Namespace != "" && out.Namespace != "" {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
			name, ours := strings.CutPrefix(string(key), "limits.")
			hard, _, ok := e.program.Hard(name, q.Spec.Hard[key])
			if wants := d.Totals[name]; ours && ok && wants > hard {
				unit := e.program.Unit(name)
				out.Quotas = append(out.Quotas, fmt.Sprintf("quota %q: %s requested %d%s, hard %d%s", q.Name, name, wants, unit, hard, unit))
			}
		}
	}
}

// ray returns the settings that Ray is started with, or nil if they do not depend on devices. claimed is nil for Pods without claims.
func (e *explainer) ray(r *plan.Result, g *raydevices.Group, claimed *claims.Devices) *Ray {
	if len(g.Template.Spec.Containers) == 0 || r.Refused() {
		return nil
	}
	container := g.Template.Spec.Containers[0].Resources
	counts := raycount.Of(e.program, r.Devices, container.Limits)
	if !counts.Devices && counts.GPUs == nil && claimed == nil {
		return nil
	}
	user := raycount.Group{StartParams: g.StartParams, Resources: g.Resources, Container: container}
	out := &Ray{GPUs: counts.GPUs, Resources: counts.Custom}
	if n, ok := user.UserGPUs(); ok {
		out.GPUs, out.Kept = &n, true
	}
	if claimed != nil {
		out.addClaims(claimed, g)
	}
	return out
}
