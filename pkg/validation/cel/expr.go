package cel

import (
	"regexp"
	"strings"
)

// Parts of CEL expressions. They use has() for what they iterate over or match. The API server cannot estimate the size of the result of a
// chain of optional fields, and then the estimated cost is unbounded.
//
// They also use has() for containers, which the schema requires. A stored object may lack them, and a rule that cannot be evaluated
// would let an update pass all rules of the policy.
//
// The constants in this block are about self, a RayClusterSpec.
const (
	Head        = "has(self.headGroupSpec)"
	Autoscaling = "self.?enableInTreeAutoscaling.orValue(false)"
	VersionIsV2 = "(self.?autoscalerOptions.?version.orValue('') == 'v2')"
	FTOptions   = "has(self.gcsFaultToleranceOptions)"
	RocksDB     = "(self.?gcsFaultToleranceOptions.?backend.orValue('') == 'rocksdb')"
	TokenAuth   = "(self.?authOptions.?mode.orValue('') == 'token')"
	TLSOn       = "self.?tlsOptions.?enabled.orValue(false)"
	History     = "has(self.historyServerOptions)"
	HasVersion  = "(self.?rayVersion.orValue('') != '')"
	GoodVersion = "self.rayVersion.matches('" + isVersion + "')"

	headTemplate  = "self.headGroupSpec.template"
	headContainer = headTemplate + ".spec.containers[0]"
	// At each field of a path the API server copies the schema of all fields beside it, so that a chain costs a fraction of as many has().
	maybeContainer = headTemplate + ".?spec.?containers[?0]"
)

// Conditions on the autoscaler v2: selected by a variable, which is older than the field, or by either.
var (
	WantsV2ByEnv = HeadEnv("e.name == '" + V2Variable + "' && has(e.value) && (e.value == '1' || e.value == 'true')")
	AutoscalerV2 = "(" + VersionIsV2 + " || " + WantsV2ByEnv + ")"
)

// HeadEnv is true if some variable of the Ray container of the head, e, meets the condition.
func HeadEnv(condition string) string { return inHeadContainer("env", "e", condition) }

// HeadMount is true if some mount of the Ray container of the head, m, meets the condition.
func HeadMount(condition string) string { return inHeadContainer("volumeMounts", "m", condition) }

func inHeadContainer(list, item, condition string) string {
	return "(" + maybeContainer + ".?" + list + ".hasValue() && " + headContainer + "." + list + ".exists(" + item + ", " + condition + "))"
}

// InHeadPod is true if some entry of a list of the head's Pod, x, meets the condition.
func InHeadPod(list, condition string) string {
	return "(has(" + headTemplate + ".spec) && has(" + headTemplate + ".spec." + list + ") && " + headTemplate + ".spec." + list + ".exists(x, " + condition + "))"
}

// AllGroups is true if each worker group, g, meets the condition.
func AllGroups(condition string) string {
	return "(self.workerGroupSpecs.all(g, " + condition + ") || !has(self.workerGroupSpecs))"
}

// NoMoreGroups is true of an update after which no more groups than before fail the condition. Comparing each group with each exceeds the
// budget; the Go rules do that. It requires that there are groups.
func NoMoreGroups(condition string) string {
	return noMore("self.workerGroupSpecs", "g", condition)
}

// noMore does the same for the items of another list or the keys of a map.
func noMore(list, item, condition string) string {
	count := list + ".filter(" + item + ", !(" + condition + ")).size()"
	return count + " <= " + InOld(count)
}

// Unchanged is true of an update that leaves a path below the node as it was.
func Unchanged(path string) string {
	is := Present("self", path)
	return "(" + is + ") == (" + InOld(is) + ") && (!(" + is + ") || self." + path + " == oldSelf." + path + ")"
}

var selfWord, eitherWord = regexp.MustCompile(`\bself\b`), regexp.MustCompile(`\b(self|oldSelf)\b`)

// InOld is an expression about the old value of the node.
func InOld(expression string) string { return selfWord.ReplaceAllString(expression, "oldSelf") }

// Below moves an expression about a node to a node above it, from which the path of fields leads to it.
func Below(path, expression string) string {
	return eitherWord.ReplaceAllString(expression, "${1}."+path)
}

// Present is has() for each field on the way and the field itself.
func Present(root, path string) string {
	var checks []string
	for name := range strings.SplitSeq(path, ".") {
		root += "." + name
		checks = append(checks, "has("+root+")")
	}
	return strings.Join(checks, " && ")
}

// Absent is true if a path of fields leads to nothing.
func Absent(root, path string) string {
	if !strings.Contains(path, ".") {
		return "!has(" + root + "." + path + ")"
	}
	return "!" + root + ".?" + strings.ReplaceAll(path, ".", ".?") + ".hasValue()"
}

// ContainersField is the field that rules on the container of the head report, because an index cannot be part of a path.
const ContainersField = ".headGroupSpec.template.spec.containers"

// Forms of names.
const (
	DNS1035Label     = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
	DNS1123Label     = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	dns1123Subdomain = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
)

// Versions of Ray as the Go rules read them: an optional v, two or more numbers, then anything.
const (
	isVersion    = `^\\s*v?(0|[1-9][0-9]*)(\\.[0-9]+)+([^0-9\\n].*)?$`
	FromRay252   = `^\\s*v?(2\\.0*(5[2-9]|[6-9][0-9]|[1-9][0-9]{2,})|([3-9]|[1-9][0-9]+)\\.[0-9]+)([^0-9\\n].*)?$`
	FromRay255   = `^\\s*v?(2\\.0*(5[5-9]|[6-9][0-9]|[1-9][0-9]{2,})|([3-9]|[1-9][0-9]+)\\.[0-9]+)([^0-9\\n].*)?$`
	FromRay256   = `^\\s*v?(2\\.0*(5[6-9]|[6-9][0-9]|[1-9][0-9]{2,})|([3-9]|[1-9][0-9]+)\\.[0-9]+)([^0-9\\n].*)?$`
	VersionField = ".rayVersion"
)

// SameVersion is true of an update of a cluster that keeps its version of Ray.
var SameVersion = Unchanged("rayVersion")

// NeedsVersion is the message of the rules on versions.
func NeedsVersion(feature, version string) string {
	return feature + " needs Ray " + version + " or later; give the version of Ray in the images, as in " + version
}
