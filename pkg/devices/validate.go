package devices

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// MaxVendors limits the work of one admission.
const MaxVendors = 500

// Validate reports everything in a registry that cannot be meant: names of resources that two families claim, settings that there are not, rules
// that contradict each other. Whether carrying it out twice changes anything is for package load to try.
func Validate(r *Registry) field.ErrorList {
	errs := oneOf(field.NewPath("defaults", "privileged"), string(r.Defaults.Privileged), "", string(Skip), string(Deny))
	optOut := field.NewPath("defaults", "optOut")
	errs = append(errs, oneOf(optOut.Child("policy"), string(r.Defaults.OptOut.Policy), "", string(Skip), string(Deny))...)
	if len(r.Defaults.OptOut.Namespaces) > 0 && r.Defaults.OptOut.Policy != Deny {
		errs = append(errs, field.Forbidden(optOut.Child("namespaces"), "needs policy Deny; without it all namespaces allow it"))
	}
	errs = append(errs, oneOf(field.NewPath("defaults", "nodeName"), string(r.Defaults.NodeName), "", string(Skip), string(Deny))...)
	errs = append(errs, validateScheduler(&r.Defaults.Scheduler, field.NewPath("defaults", "scheduler"))...)
	if len(r.Vendors) > MaxVendors {
		return append(errs, field.TooMany(field.NewPath("vendors"), len(r.Vendors), MaxVendors))
	}
	names, owners := map[string]bool{}, map[string]string{}
	for i := range r.Vendors {
		v, path := &r.Vendors[i], field.NewPath("vendors").Index(i)
		if names[v.Name] {
			errs = append(errs, field.Duplicate(path.Child("name"), v.Name))
		}
		names[v.Name] = true
		for _, f := range Fields {
			name := v.Resources.Name(f)
			if name == "" {
				continue
			}
			if owner, taken := owners[name]; taken {
				errs = append(errs, field.Invalid(path.Child("resources", string(f)), name, "is a resource of "+owner+" already"))
			}
			owners[name] = v.Name + "." + string(f)
		}
		errs = append(errs, validateVendor(v, path)...)
	}
	return append(errs, validateGroups(r)...)
}

func validateVendor(v *Vendor, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsDNS1123Label(v.Name) {
		errs = append(errs, field.Invalid(path.Child("name"), v.Name, problem))
	}
	errs = append(errs, validateResources(&v.Resources, path.Child("resources"))...)
	errs = append(errs, validateUnits(&v.Units, path.Child("units"))...)
	errs = append(errs, oneOf(path.Child("privileged"), string(v.Privileged), "", string(Skip), string(Deny))...)
	errs = append(errs, validateScheduler(&v.Scheduler, path.Child("scheduler"))...)
	if v.Defaults.Count < 0 || v.Defaults.Count > 0 && v.Resources.Count == "" {
		errs = append(errs, field.Invalid(path.Child("defaults", "count"), v.Defaults.Count, "must not be negative, and needs resources.count"))
	}
	if e := v.Exclusive; e != nil && (e.Cores < 1 || v.Resources.Cores == "" || v.Resources.Count == "") {
		errs = append(errs, field.Invalid(path.Child("exclusive", "cores"), e.Cores, "must be at least 1, and needs resources.count and resources.cores"))
	}
	if v.RuntimeClass != "" {
		for _, problem := range validation.IsDNS1123Subdomain(v.RuntimeClass) {
			errs = append(errs, field.Invalid(path.Child("runtimeClass"), v.RuntimeClass, problem))
		}
	}
	for i := range v.Rules {
		errs = append(errs, validateRule(v, &v.Rules[i], path.Child("rules").Index(i))...)
	}
	errs = append(errs, validateEnv(v, v.Env, path.Child("env"))...)
	errs = append(errs, validateAbsentEnv(v, path)...)
	errs = append(errs, validateAnnotations(v, path.Child("annotations"))...)
	errs = append(errs, validateQuota(&v.Quota, path.Child("quota"))...)
	return append(errs, validateRay(v, path.Child("ray"))...)
}

func validateResources(r *Resources, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, f := range Fields {
		name := r.Name(f)
		if name == "" {
			continue
		}
		domain, _, ok := strings.Cut(name, "/")
		if !ok || domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") || strings.HasPrefix(name, "requests.") {
			errs = append(errs, field.Invalid(path.Child(string(f)), name, "must be an extended resource: domain/name, outside kubernetes.io"))
			continue
		}
		for _, problem := range validation.IsQualifiedName(name) {
			errs = append(errs, field.Invalid(path.Child(string(f)), name, problem))
		}
	}
	if r.Count == "" && r.Memory == "" && r.Cores == "" {
		errs = append(errs, field.Required(path, "a family needs a resource for count, memory or cores"))
	}
	return errs
}

func validateUnits(u *Units, path *field.Path) field.ErrorList {
	memory := path.Child("memory")
	errs := oneOf(memory.Child("form"), u.Memory.Form, "", Integer, Bytes)
	errs = append(errs, oneOf(memory.Child("per"), u.Memory.Per, "", Slice, Container)...)
	errs = append(errs, oneOf(path.Child("cores", "per"), u.Cores.Per, "", Slice, Container)...)
	if n := u.Memory.ToMiB; n < 0 || n > 1<<20 || n != 0 && u.Memory.Form == Bytes {
		errs = append(errs, field.Invalid(memory.Child("toMiB"), n, "must be from 1 to 1048576, and has no use with the form Bytes"))
	}
	if n := u.Memory.BareMiB; n < 0 || n > 1<<20 || n != 0 && u.Memory.Form != Bytes {
		errs = append(errs, field.Invalid(memory.Child("bareMiB"), n, "must be from 1 to 1048576, and is for the form Bytes"))
	}
	return errs
}

func validateScheduler(s *Scheduler, path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("when"), s.When, "", DefaultOnly, Never)
	if s.Name != "" {
		for _, problem := range validation.IsDNS1123Subdomain(s.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), s.Name, problem))
		}
	}
	return errs
}

func validateQuota(q *Quota, path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("percent"), q.Percent, "", Warn, string(Deny), Assume)
	if q.WholeDeviceMiB < 0 || q.WholeDeviceMiB > MaxAmount || q.Percent == Assume && q.WholeDeviceMiB == 0 {
		errs = append(errs, field.Invalid(path.Child("wholeDeviceMiB"), q.WholeDeviceMiB, "must be the memory of a device, which percent: Assume needs"))
	}
	if q.CoresWhenAbsent < 0 || q.CoresWhenAbsent > MaxAmount {
		errs = append(errs, field.Invalid(path.Child("coresWhenAbsent"), q.CoresWhenAbsent, "must not be negative"))
	}
	return errs
}

func validateRay(v *Vendor, path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("numGPUs"), v.Ray.NumGPUs, "", AmountCount)
	if v.Ray.NumGPUs != "" && v.Resources.Count == "" {
		errs = append(errs, field.Invalid(path.Child("numGPUs"), v.Ray.NumGPUs, "needs resources.count"))
	}
	for name, amount := range v.Ray.Custom {
		at := path.Child("custom").Key(name)
		if amount != AmountCount && amount != AmountCores {
			errs = append(errs, field.NotSupported(at, amount, []string{AmountCount, AmountCores}))
		} else if amount == AmountCount && v.Resources.Count == "" || amount == AmountCores && v.Resources.Cores == "" {
			errs = append(errs, field.Invalid(at, amount, "is a field for which the family has no resource"))
		}
		errs = append(errs, validateCustomName(name, at)...)
	}
	return append(errs, validateTotals(v, path)...)
}

func validateTotals(v *Vendor, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for name, amount := range v.Ray.Totals {
		at := path.Child("totals").Key(name)
		if amount != TotalMemoryMiB && amount != TotalCorePercent {
			errs = append(errs, field.NotSupported(at, amount, []string{TotalMemoryMiB, TotalCorePercent}))
		} else if amount == TotalMemoryMiB && v.Resources.Memory == "" || amount == TotalCorePercent && v.Resources.Cores == "" {
			errs = append(errs, field.Invalid(at, amount, "is of a field for which the family has no resource"))
		}
		if _, taken := v.Ray.Custom[name]; taken {
			errs = append(errs, field.Duplicate(at, name))
		}
		errs = append(errs, validateCustomName(name, at)...)
	}
	return errs
}

func validateCustomName(name string, path *field.Path) field.ErrorList {
	if name == "" || name == "CPU" || name == "GPU" || name == "memory" || name == "object_store_memory" {
		return field.ErrorList{field.Invalid(path, name, "is no custom resource of Ray")}
	}
	return nil
}

// validateGroups requires that families that share variables for containers without a device have the same variables.
func validateGroups(r *Registry) field.ErrorList {
	var errs field.ErrorList
	first := map[string]*Vendor{}
	for i := range r.Vendors {
		v := &r.Vendors[i]
		if v.AbsentEnvGroup == "" || !v.On() {
			continue
		}
		other := first[v.AbsentEnvGroup]
		if other == nil {
			first[v.AbsentEnvGroup] = v
			continue
		}
		same := slices.EqualFunc(v.AbsentEnv, other.AbsentEnv, func(a, b Env) bool {
			return a.Name == b.Name && a.Value == b.Value && a.On() == b.On() && a.Conflict == b.Conflict && a.When == b.When
		})
		if !same {
			errs = append(errs, field.Invalid(field.NewPath("vendors").Index(i).Child("absentEnv"), v.Name, "differs from that of "+other.Name+", which is of the same absentEnvGroup"))
		}
	}
	return errs
}

func oneOf(path *field.Path, value string, allowed ...string) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" }))}
}
