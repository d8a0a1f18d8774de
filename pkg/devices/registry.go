package devices

// Fixed fields of a registry file.
const (
	APIVersion = "devices.ray.io/v1alpha1"
	Kind       = "DeviceRegistry"
)

// Policy is the treatment of a Pod that cannot work as requested.
type Policy string

// Policies.
const (
	// Skip leaves the container or Pod as it is, with a warning.
	Skip Policy = "Skip"
	// Deny refuses the Pod.
	Deny Policy = "Deny"
)

// When a scheduler name is written.
const (
	// DefaultOnly replaces no name, and the name of the default scheduler.
	DefaultOnly = "DefaultOnly"
	// Never leaves the scheduler of Pods alone.
	Never = "Never"
)

// Registry is a file of families. Entries keep the order of the file; nothing depends on it.
// +kubebuilder:object:root=true
type Registry struct {
	// APIVersion is devices.ray.io/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is DeviceRegistry.
	Kind string `json:"kind"`
	// Defaults apply to families without their own values.
	Defaults Defaults `json:"defaults,omitzero"`
	// Vendors are the families.
	Vendors []Vendor `json:"vendors"`
}

// Defaults apply to families without their own values.
type Defaults struct {
	// Privileged is the policy for privileged containers that request a device. Empty means Skip.
	Privileged Policy `json:"privileged,omitempty"`
	// Scheduler is the scheduler of families without one.
	Scheduler Scheduler `json:"scheduler,omitzero"`
	// NodeName is the policy for Pods with devices that have a nodeName. Empty means Skip.
	NodeName Policy `json:"nodeName,omitempty"`
	// OptOut is the policy for Pods with devices that have OptOutLabel.
	OptOut OptOut `json:"optOut,omitzero"`
}

// OptOutLabel leaves a Pod as it is if its value is OptOutValue: the webhook that completes Pods is not called.
const (
	OptOutLabel = "devices.ray.io/webhook"
	OptOutValue = "ignore"
)

// OptOut limits where Pods may opt out of changes. Quotas still apply to them.
type OptOut struct {
	// Policy is Skip or Deny, which refuses them. Empty means Skip.
	Policy Policy `json:"policy,omitempty"`
	// Namespaces allow it in spite of Deny.
	Namespaces []string `json:"namespaces,omitempty"`
}

// Scheduler is the scheduler that can assign a device.
type Scheduler struct {
	// Name is spec.schedulerName; empty means that any scheduler does.
	Name string `json:"name,omitempty"`
	// When is DefaultOnly or Never. Empty means DefaultOnly; the value in Defaults applies to all families.
	When string `json:"when,omitempty"`
}

// Vendor is one family of devices.
type Vendor struct {
	// Name is unique in the registry.
	Name string `json:"name"`
	// Enabled is true if unset. A family that is not is checked and otherwise ignored.
	Enabled *bool `json:"enabled,omitempty"`
	// Resources are the resource names that Pods request.
	Resources Resources `json:"resources"`
	// Units are the units of the amounts.
	Units Units `json:"units,omitzero"`
	// Defaults are the missing amounts of a container that requests something else of the family.
	Defaults VendorDefaults `json:"defaults,omitzero"`
	// Exclusive is for containers that request whole devices.
	Exclusive *Exclusive `json:"exclusive,omitempty"`
	// Rules are carried out in this order.
	Rules []Rule `json:"rules,omitempty"`
	// Env are variables of containers with a device.
	Env []Env `json:"env,omitempty"`
	// AbsentEnv are variables of containers without a device of the family, and of AbsentEnvGroup if that is set.
	AbsentEnv []Env `json:"absentEnv,omitempty"`
	// AbsentEnvGroup names families that share AbsentEnv: it is for containers without a device of any of them.
	AbsentEnvGroup string `json:"absentEnvGroup,omitempty"`
	// Annotations are the annotations of Pods with a device.
	Annotations []Annotation `json:"annotations,omitempty"`
	// RuntimeClass is the class of Pods with a device and without a class; empty means none.
	RuntimeClass string `json:"runtimeClass,omitempty"`
	// Privileged overrides the value of the registry.
	Privileged Policy `json:"privileged,omitempty"`
	// Scheduler overrides the value of the registry.
	Scheduler Scheduler `json:"scheduler,omitzero"`
	// Quota selects what counts against quotas.
	Quota Quota `json:"quota,omitzero"`
	// Ray is how devices count in Ray.
	Ray Ray `json:"ray,omitzero"`
}

// On reports whether the family is in use.
func (v *Vendor) On() bool { return v.Enabled == nil || *v.Enabled }

// FieldNames are the fields for which the family has a resource.
func (v *Vendor) FieldNames() []string {
	var names []string
	for _, f := range Fields {
		if v.Resources.Name(f) != "" {
			names = append(names, string(f))
		}
	}
	return names
}

// Resources are extended resources, or empty where the family has no such name.
type Resources struct {
	// Count is the number of devices, or of slices of them.
	Count string `json:"count,omitempty"`
	// Memory is the device memory of each.
	Memory string `json:"memory,omitempty"`
	// MemoryPercent is the same as a share of the device, 1 to 100.
	MemoryPercent string `json:"memoryPercent,omitempty"`
	// Cores is the compute of each.
	Cores string `json:"cores,omitempty"`
	// Priority is passed to the container. It does not request a device by itself.
	Priority string `json:"priority,omitempty"`
}

// Units are the units of the numbers. Without a setting they are whole numbers; memory in MiB.
type Units struct {
	// Memory is the unit of memory.
	Memory MemoryUnit `json:"memory,omitzero"`
	// Cores is the unit of compute.
	Cores CoresUnit `json:"cores,omitzero"`
}

// Forms of amounts of memory.
const (
	// Integer is a whole number of units without a suffix.
	Integer = "Integer"
	// Bytes is a quantity of bytes, as Kubernetes has it for memory.
	Bytes = "Bytes"
)

// Scope of an amount.
const (
	// Slice means that a container of n devices has n times the amount.
	Slice = "Slice"
	// Container means that it is for all devices of the container.
	Container = "Container"
)

// MemoryUnit is how memory is written.
type MemoryUnit struct {
	// Form is Integer or Bytes; empty means Integer.
	Form string `json:"form,omitempty"`
	// ToMiB is the unit of Integer in MiB; 0 means 1.
	ToMiB int64 `json:"toMiB,omitempty"`
	// BareMiB is for Bytes: the unit in MiB of a number without a suffix. The API server writes 4000 as 4k, so that a suffix is not
	// reliable: whole numbers below 1048576 count as numbers without a suffix. 0 means that all are bytes.
	BareMiB int64 `json:"bareMiB,omitempty"`
	// Per is Slice or Container; empty means Slice.
	Per string `json:"per,omitempty"`
}

// CoresUnit is how compute is written.
type CoresUnit struct {
	// Per is Slice or Container; empty means Slice.
	Per string `json:"per,omitempty"`
}

// VendorDefaults are filled in if a container requests something of the family.
type VendorDefaults struct {
	// Count is the number of devices of a container that requests memory or cores only; 0 derives none.
	Count int64 `json:"count,omitempty"`
}

// Exclusive is the reservation for devices that a container has for itself. Such a container requests a number of devices, no cores, and
// all of the memory or none explicitly.
type Exclusive struct {
	// Cores is filled in for a container that requests whole devices.
	Cores int64 `json:"cores"`
}

// Quota selects what of the family counts against limits.<resource> in a ResourceQuota.
type Quota struct {
	// Memory is true if unset. false: memory is not charged.
	Memory *bool `json:"memory,omitempty"`
	// Cores is true if unset. false: compute is not charged.
	Cores *bool `json:"cores,omitempty"`
	// Count is true if unset. false: devices are not charged.
	Count *bool `json:"count,omitempty"`
	// CoresWhenAbsent is charged for each device of a container that sets no cores.
	CoresWhenAbsent int64 `json:"coresWhenAbsent,omitempty"`
	// WholeDeviceMiB is the memory of a device, for Assume.
	WholeDeviceMiB int64 `json:"wholeDeviceMiB,omitempty"`
	// Percent is for requests of unknown memory, such as shares and whole devices. Warn charges none, Deny refuses them if there is a quota
	// for memory, and Assume charges WholeDeviceMiB. Empty means Warn.
	Percent string `json:"percent,omitempty"`
}

// Values of Quota.Percent, besides Deny.
const (
	Warn   = "Warn"
	Assume = "Assume"
)

// Ray is how devices count in Ray. Without a setting they are a custom resource with the name of the family in upper case.
type Ray struct {
	// NumGPUs is Count for families that Ray's GPU detection supports.
	NumGPUs string `json:"numGPUs,omitempty"`
	// Custom maps Ray resources to Count or Cores, which select their amount.
	Custom map[string]string `json:"custom,omitempty"`
	// Totals are Ray resources with MemoryMiB or CorePercent, which are sums over the devices of a node. Ray does not know the amount of
	// each device: it may place a task that needs 6000 on a node with two devices of 4096. They are reliable only if a node has one device.
	Totals map[string]string `json:"totals,omitempty"`
}

// Sums of Ray.Totals.
const (
	TotalMemoryMiB   = "MemoryMiB"
	TotalCorePercent = "CorePercent"
)
