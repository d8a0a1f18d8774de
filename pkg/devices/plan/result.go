package plan

import (
	"cmp"
	"slices"
	"strings"
)

// Result is the result of planning. Operations and Changes are empty if there are problems.
type Result struct {
	// Problems are reasons to refuse the Pod, sorted.
	Problems []Problem
	// Warnings are for the user, sorted.
	Warnings []string
	// Devices are the devices that containers request, in the order of the containers, init containers first, then by family.
	Devices []Device
	// Demand is the usage of quotas by the Pod.
	Demand Demand
	// Vendors are the families that the Pod requests, sorted, without those of skipped containers.
	Vendors []string

	// RegistryFault means that a problem is in the registry: planning twice would change the Pod again, or a condition cannot be evaluated.
	RegistryFault bool

	pod     *Pod
	changes changes
}

// Problem is a reason to refuse a Pod.
type Problem struct {
	// Forbidden means that a policy forbids the request; other problems are invalid in themselves.
	Forbidden bool
	// Container is empty for the Pod as a whole.
	Container string
	// Resource is the resource of the problem, or empty.
	Resource string
	Text     string
}

// String is one line.
func (p Problem) String() string {
	var b strings.Builder
	if p.Container != "" {
		b.WriteString("container " + p.Container + ": ")
	}
	if p.Resource != "" {
		b.WriteString(p.Resource + ": ")
	}
	return b.String() + p.Text
}

func sortProblems(list []Problem) []Problem {
	slices.SortFunc(list, func(a, b Problem) int { return cmp.Or(strings.Compare(a.String(), b.String())) })
	return slices.Compact(list)
}

// Device is the request of one container for one family, including all defaults.
type Device struct {
	Vendor    string
	Container string
	// Init is an init container; Restartable is one that keeps running.
	Init, Restartable bool
	// Index of the container in its list.
	Index int
	// Count is the number of devices; 0 if none was requested and none was filled in.
	Count int64
	// MemoryMiB and Cores are the amounts of each device; 0 if unset.
	MemoryMiB, Cores int64
	// TotalCores is the sum over all devices.
	TotalCores int64
	// MemoryPercent is the share of each device; 0 if nothing is said.
	MemoryPercent int64
	// Shared reports whether others may use the rest of the device.
	Shared bool
}

// changes are the additions to a Pod.
type changes struct {
	containers   []containerChanges // as Pod.containers
	annotations  map[string]string
	runtimeClass string
	scheduler    string
}

type containerChanges struct {
	limits, requests map[string]string
	env              []envChange
}

// envChange appends a variable, or replaces the one at an index.
type envChange struct {
	at    int // -1 to append
	whole bool
	name  string
	value string
}

func (c *changes) empty() bool {
	return len(c.annotations) == 0 && c.runtimeClass == "" && c.scheduler == "" &&
		!slices.ContainsFunc(c.containers, func(c containerChanges) bool { return len(c.limits)+len(c.requests)+len(c.env) > 0 })
}

// Empty reports whether the Pod stays as it is.
func (r *Result) Empty() bool { return r.changes.empty() }

// Refused reports whether there is a reason to refuse the Pod.
func (r *Result) Refused() bool { return len(r.Problems) > 0 }
