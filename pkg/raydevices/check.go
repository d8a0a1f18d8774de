package raydevices

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/devices"
	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/devices/raycount"
)

// Options are the inputs of the check besides object and registry.
type Options struct {
	// Facts reports whether the operator publishes the resources that an autoscaler cannot see.
	Facts bool
}

// Finding is a problem that device admission, or Ray because of devices, would report for the Pods of a group.
type Finding struct {
	Group string
	// Refused means that Pods of the group are refused, so that none will exist; otherwise the finding is a warning.
	Refused bool
	// Forbidden means that a policy of the registry refuses the Pods, although they are valid in themselves.
	Forbidden bool
	// Disagrees means that the user gives Ray a number that differs from the devices; the user's number is kept.
	Disagrees bool
	Field     *field.Path
	// Message describes the problem and a remedy.
	Message string
}

// Check plans all Pods of a Ray object.
func Check(p *plan.Program, object runtime.Object, o Options) []Finding {
	var out []Finding
	for _, g := range Groups(object) {
		r := g.Plan(p)
		c := &checker{group: &g, program: p, plan: r, options: o}
		if c.refusals(); !r.Refused() {
			c.optOut()
			c.warnings()
		}
		out = append(out, c.findings...)
	}
	return out
}

// checker checks one group.
type checker struct {
	group    *Group
	program  *plan.Program
	plan     *plan.Result
	options  Options
	findings []Finding
}

func (c *checker) warn(path *field.Path, format string, args ...any) {
	c.findings = append(c.findings, Finding{Group: c.group.Name, Field: path, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) refusals() {
	for _, p := range c.plan.Problems {
		path, message := c.place(p)
		if !c.group.Ray {
			// Admission is registered for Pods of Ray, and the Pod of a submitter is not one.
			c.warn(path, "%s (refused where device admission looks at all Pods)", message)
			continue
		}
		c.findings = append(c.findings, Finding{Group: c.group.Name, Refused: true, Forbidden: p.Forbidden, Field: path, Message: message})
	}
}

// optOut checks Pods that opt out of changes although the registry forbids it.
func (c *checker) optOut() {
	text := c.group.ForbiddenOptOut(c.program, c.plan)
	if text == "" {
		return
	}
	path := c.group.TemplatePath.Child("metadata", "labels").Key(devices.OptOutLabel)
	if _, ofTemplate := c.group.Template.Labels[devices.OptOutLabel]; !ofTemplate {
		path = c.group.Path.Child("labels").Key(devices.OptOutLabel)
	}
	if !c.group.Ray {
		c.warn(path, "%s (refused where device admission looks at all Pods)", text)
		return
	}
	c.findings = append(c.findings, Finding{Group: c.group.Name, Refused: true, Forbidden: true, Field: path, Message: text + "; leave the label out"})
}

// place returns the field of a problem, and its message with a remedy.
func (c *checker) place(p plan.Problem) (*field.Path, string) {
	at := c.container(p.Container)
	switch {
	case p.Resource != "":
		return at.Child("resources", "limits").Key(p.Resource), strings.TrimSpace(p.Text)
	case p.Forbidden && p.Container != "":
		return at.Child("securityContext", "privileged"), p.Text + "; leave out privileged, or the devices"
	case p.Container != "":
		return at, p.Text
	case p.Forbidden:
		return c.group.TemplatePath.Child("spec", "nodeName"), p.Text + "; leave it out"
	default:
		return c.group.TemplatePath, p.Text
	}
}

func (c *checker) container(name string) *field.Path {
	spec := c.group.TemplatePath.Child("spec")
	find := func(list []corev1.Container) int {
		return slices.IndexFunc(list, func(x corev1.Container) bool { return x.Name == name })
	}
	if i := find(c.group.Template.Spec.Containers); i >= 0 {
		return spec.Child("containers").Index(i)
	}
	if i := find(c.group.Template.Spec.InitContainers); i >= 0 {
		return spec.Child("initContainers").Index(i)
	}
	return spec
}

func (c *checker) warnings() {
	if !plan.OptsOut(c.group.Labels) { // or nothing of it is done
		for _, text := range c.plan.Warnings {
			c.warn(c.group.TemplatePath, "%s", text)
		}
	}
	if !c.group.Ray || len(c.group.Template.Spec.Containers) == 0 {
		return
	}
	c.elsewhere()
	ray := c.group.Template.Spec.Containers[0]
	counts := raycount.Of(c.program, c.plan.Devices, ray.Resources.Limits)
	g := raycount.Group{StartParams: c.group.StartParams, Resources: c.group.Resources, Container: ray.Resources}
	if len(counts.Families) > 1 {
		c.warn(c.container(ray.Name).Child("resources", "limits"), "asks for GPUs of %s, but a Ray node has one kind of GPU: none of them is counted for Ray; ask for one, or use two groups", strings.Join(counts.Families, " and "))
	}
	if len(counts.Profiles) > 1 {
		c.warn(c.container(ray.Name).Child("resources", "limits"), "the instances of %s count together as GPUs of Ray, whatever their size", strings.Join(counts.Profiles, " and "))
	}
	c.disagreement(counts, &g)
	c.unseen(counts, &g)
}

// elsewhere finds devices that Ray does not see.
func (c *checker) elsewhere() {
	for i := range c.plan.Devices {
		if d := &c.plan.Devices[i]; (d.Init || d.Index != 0) && d.Count > 0 {
			c.warn(c.container(d.Container), "asks for devices of %s, which count for quotas and not for Ray: Ray sees its own container only", d.Vendor)
		}
	}
}

// disagreement reports numbers of the user that differ from those of the devices. Zero on the head keeps tasks off it, which is usual.
func (c *checker) disagreement(counts raycount.Counts, g *raycount.Group) {
	said, ok := g.UserGPUs()
	if !ok || counts.GPUs == nil || said == *counts.GPUs || said == 0 && c.group.Name == rayv1.HeadGroupName {
		return
	}
	path := c.group.Path.Child("rayStartParams").Key(raycount.ParamGPUs)
	if len(c.group.Resources) > 0 {
		path = c.group.Path.Child("resources")
	}
	c.findings = append(c.findings, Finding{Group: c.group.Name, Disagrees: true, Field: path, Message: fmt.Sprintf("is %d and is kept, but the Ray container sees %d: leave it out to have Ray started with what the container sees", said, *counts.GPUs)})
}

// unseen reports resources of nodes that the autoscaler does not know.
func (c *checker) unseen(counts raycount.Counts, g *raycount.Group) {
	if !c.group.Autoscaled {
		return
	}
	params := c.group.Path.Child("rayStartParams")
	if counts.GPUs != nil && !g.SetsGPUs() && *counts.GPUs != g.SeenGPUs() && !c.options.Facts {
		c.warn(params.Key(raycount.ParamGPUs), "the autoscaler takes a worker of this group to have %d GPUs, but it will have %d: set it to %q, or run the operator with --device-autoscaler-facts", g.SeenGPUs(), *counts.GPUs, fmt.Sprint(*counts.GPUs))
	}
	_, own := c.group.StartParams[raycount.ParamResources]
	for _, name := range slices.Sorted(maps.Keys(counts.Custom)) {
		if counts.Custom[name] <= 0 || g.Sees(name) || c.options.Facts && !own {
			continue
		}
		how := ", or run the operator with --device-autoscaler-facts"
		if own {
			how = ""
		}
		c.warn(params.Key(raycount.ParamResources), "the autoscaler does not know that a worker of this group will have %d of %s: add it here%s", counts.Custom[name], name, how)
	}
}
