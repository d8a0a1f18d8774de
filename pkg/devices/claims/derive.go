package claims

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// State is the result of a lookup.
type State int

// States.
const (
	// Missing objects do not exist.
	Missing State = iota
	// Unreadable objects may exist, but cannot be read, for example because the permission is missing.
	Unreadable
	// Found objects were read.
	Found
)

// Lookup reads the objects that a Pod refers to, by name. A function returns nil unless the state is Found.
type Lookup struct {
	Template, Claim func(name string) (*resourcev1.ResourceClaimSpec, State)
	Class           func(name string) (*resourcev1.DeviceClass, State)
	// Classes maps the classes to Ray resources.
	Classes Classes
}

// Amounts are numbers of devices by Ray resource.
type Amounts map[string]int64

// Devices are the devices of a Pod by its claims.
type Devices struct {
	// Ray are the devices that the Ray container sees. That is the first app container; devices of others do not count.
	Ray Amounts
	// Varies are Ray resources whose amount depends on the allocation, such as requests for all devices or with different alternatives. Ray
	// has the least possible amount of them.
	Varies map[string]bool
	// Opaque means that the Ray container sees devices whose resource in Ray is unknown.
	Opaque bool
	// Pod are the devices that each Pod requests, by templates and for all its containers.
	Pod Amounts
	// Shared are the devices of existing claims, by the name of the claim. All Pods that name a claim share its devices.
	Shared map[string]Amounts
	// Missing are the objects to wait for, each with its kind, such as "ResourceClaimTemplate gpu"; sorted.
	Missing []string
	// Unreadable are objects that cannot be read, as in Missing; sorted.
	Unreadable []string
	// Unknown are classes whose Ray resource is unknown; sorted.
	Unknown []string
}

// Resources returns the amounts that Ray has to be given: neither those of GPUs, which have a parameter of their own, nor those of the
// resources that users gives, nor those that vary.
func (d *Devices) Resources(users map[string]float64) Amounts {
	given := maps.Clone(d.Ray)
	maps.DeleteFunc(given, func(name string, _ int64) bool {
		_, set := users[name]
		return set || name == GPU || d.Varies[name]
	})
	return given
}

// maxCount is the largest number of devices of one request. The API server limits a claim to 32 devices.
const maxCount = 1 << 20

// Of derives the devices of Pods with this spec. It returns nil if they have no claims.
//
// A request with alternatives counts as the least of them. A request with administrative access counts nothing: its devices belong to
// others. A claim without a container that uses it is allocated all the same, so it counts in Pod or Shared.
func Of(spec *corev1.PodSpec, l Lookup) *Devices {
	if len(spec.ResourceClaims) == 0 {
		return nil
	}
	d := &deriver{lookup: l, classes: map[string]string{}, notes: map[string]map[string]bool{}}
	out := &Devices{Ray: Amounts{}, Varies: map[string]bool{}, Pod: Amounts{}, Shared: map[string]Amounts{}}
	seen := map[string]bool{} // requests of existing claims, which a Pod may list twice
	for i := range spec.ResourceClaims {
		c := &spec.ResourceClaims[i]
		claim := d.claim(c)
		if claim == nil {
			out.Opaque = out.Opaque || len(usedBy(spec, c.Name)) > 0
			continue
		}
		into := out.Pod
		if c.ResourceClaimName != nil {
			into = Amounts{}
			out.Shared[*c.ResourceClaimName] = into
		}
		used := usedBy(spec, c.Name)
		for j := range claim.Devices.Requests {
			r := &claim.Devices.Requests[j]
			got := d.request(r)
			into.Add(got.least, 1)
			again := c.ResourceClaimName != nil && seen[*c.ResourceClaimName+"/"+r.Name]
			if (used[""] || used[r.Name]) && !again {
				out.see(got)
				if c.ResourceClaimName != nil {
					seen[*c.ResourceClaimName+"/"+r.Name] = true
				}
			}
		}
	}
	out.Missing, out.Unreadable, out.Unknown = d.noted(missing), d.noted(unreadable), d.noted(unknown)
	return out
}

// usedBy returns the requests of a claim that the Ray container uses; an empty name is all of them.
func usedBy(spec *corev1.PodSpec, claim string) map[string]bool {
	used := map[string]bool{}
	if len(spec.Containers) == 0 {
		return used
	}
	for _, c := range spec.Containers[0].Resources.Claims {
		if c.Name == claim {
			used[c.Request] = true
		}
	}
	return used
}

// Add adds n times the amounts in more.
func (a Amounts) Add(more Amounts, n int64) {
	for name, amount := range more {
		a[name] += n * amount
	}
}

// String returns the amounts in the order of their names, such as "GPU=2,TPU=4".
func (a Amounts) String() string {
	parts := make([]string, 0, len(a))
	for _, name := range slices.Sorted(maps.Keys(a)) {
		parts = append(parts, name+"="+strconv.FormatInt(a[name], 10))
	}
	return strings.Join(parts, ",")
}

func (d *Devices) see(got result) {
	d.Ray.Add(got.least, 1)
	maps.Copy(d.Varies, got.varies)
	d.Opaque = d.Opaque || got.opaque
}

// deriver derives the devices of one Pod.
type deriver struct {
	lookup  Lookup
	classes map[string]string // Ray resource by class
	notes   map[string]map[string]bool
}

// Kinds of notes.
const (
	missing    = "missing"
	unreadable = "unreadable"
	unknown    = "unknown"
)

func (d *deriver) note(kind, what string) {
	if d.notes[kind] == nil {
		d.notes[kind] = map[string]bool{}
	}
	d.notes[kind][what] = true
}

func (d *deriver) noted(kind string) []string { return slices.Sorted(maps.Keys(d.notes[kind])) }

// found notes an object that was not found, and reports whether it was.
func (d *deriver) found(s State, what string) bool {
	switch s {
	case Missing:
		d.note(missing, what)
	case Unreadable:
		d.note(unreadable, what)
	case Found:
		return true
	}
	return false
}

func (d *deriver) claim(c *corev1.PodResourceClaim) *resourcev1.ResourceClaimSpec {
	find, kind, name := d.lookup.Template, "ResourceClaimTemplate ", c.ResourceClaimTemplateName
	if c.ResourceClaimName != nil {
		find, kind, name = d.lookup.Claim, "ResourceClaim ", c.ResourceClaimName
	}
	if name == nil {
		return nil // the API server rejects the Pod
	}
	spec, state := find(*name)
	if !d.found(state, kind+*name) {
		return nil
	}
	return spec
}

// result is the allocation of a request.
type result struct {
	least  Amounts
	varies map[string]bool
	opaque bool
}

func (d *deriver) request(r *resourcev1.DeviceRequest) result {
	if e := r.Exactly; e != nil {
		if e.AdminAccess != nil && *e.AdminAccess {
			return result{}
		}
		return d.devices(e.DeviceClassName, e.AllocationMode, e.Count)
	}
	var out result
	for i := range r.FirstAvailable {
		s := &r.FirstAvailable[i]
		one := d.devices(s.DeviceClassName, s.AllocationMode, s.Count)
		if i == 0 {
			out = one
			continue
		}
		out = out.or(one)
	}
	return out
}

// or returns what is allocated for one of two alternatives.
func (r result) or(other result) result {
	out := result{least: Amounts{}, varies: map[string]bool{}, opaque: r.opaque || other.opaque}
	maps.Copy(out.varies, r.varies)
	maps.Copy(out.varies, other.varies)
	for _, side := range []Amounts{r.least, other.least} {
		for name := range side {
			if r.least[name] != other.least[name] {
				out.varies[name] = true
			}
			if n := min(r.least[name], other.least[name]); n > 0 {
				out.least[name] = n
			}
		}
	}
	return out
}

// devices returns the devices of a class. Without a count it is one; all devices are at least one.
func (d *deriver) devices(class string, mode resourcev1.DeviceAllocationMode, count int64) result {
	resource := d.resource(class)
	if resource == None || resource == "" {
		return result{opaque: resource == ""}
	}
	if mode == resourcev1.DeviceAllocationModeAll {
		return result{least: Amounts{resource: 1}, varies: map[string]bool{resource: true}}
	}
	return result{least: Amounts{resource: min(max(count, 1), maxCount)}}
}

// resource returns the Ray resource of a class; empty if it is unknown. A class whose name says enough need not exist yet.
func (d *deriver) resource(class string) string {
	if r, again := d.classes[class]; again {
		return r
	}
	object, state := d.lookup.Class(class)
	r := d.lookup.Classes.Resource(class, object)
	if r == "" && d.found(state, "DeviceClass "+class) {
		d.note(unknown, class)
	}
	d.classes[class] = r
	return r
}
