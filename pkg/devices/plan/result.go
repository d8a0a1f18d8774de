package plan

import (
	"cmp"
	"slices"
	"strings"
)

// Result is what a plan says. Operations and Changes are empty if there are problems.
type Result struct {
	// Problems are reasons to refuse the Pod, sorted.
	Problems []Problem
	// Warnings are for the user, sorted.
	Warnings []string
	// Devices are what containers ask for, in the order of the containers, init containers first, then by family.
	Devices []Device
	// Demand is what the Pod takes of quotas.
	Demand Demand
	// Vendors are the families that the Pod asks for, sorted; not those of containers that are passed over.
	Vendors []string

	// RegistryFault says that a problem is one of the registry: planning twice would change the Pod again, or a condition cannot be evaluated.
	RegistryFault bool

	pod     *Pod
	changes changes
}

// Problem is a reason to refuse a Pod.
type Problem struct {
	// Forbidden is what a policy does not permit; anything else is invalid in itself.
	Forbidden bool
	// Container is empty for the Pod as a whole.
	Container string
	// Resource is what it is about, empty if none.
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

// Device is what one container asks for of one family, with all that was filled in.
type Device struct {
	Vendor    string
	Container string
	// Init is an init container; Restartable is one that keeps running.
	Init, Restartable bool
	// Index of the container in its list.
	Index int
	// Count is the number of devices; 0 if none was asked for and none is filled in.
	Count int64
	// MemoryMiB and Cores are those of each device; 0 if nothing is said.
	MemoryMiB, Cores int64
	// TotalCores are those of all devices together.
	TotalCores int64
	// MemoryPercent is the share of each device; 0 if nothing is said.
	MemoryPercent int64
	// Shared reports whether others may use the rest of the device.
	Shared bool
}

// changes are what a Pod gets.
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
