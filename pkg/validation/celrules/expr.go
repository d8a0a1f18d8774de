package celrules

import (
	"regexp"
	"strings"
)

// Pieces of CEL. They say has() where optional chains would read better: the API server gives up on the size of what
// comes out of a chain, and then the estimate of its cost is without bounds.
//
// They say has() of containers too, which the schema demands. A stored object may lack them, and a rule that cannot be
// evaluated fails even if nothing changed: the API server ratchets wrong values, not errors.
//
// Those in this block are about self, a RayClusterSpec.
const (
	autoscaling = "(has(self.enableInTreeAutoscaling) && self.enableInTreeAutoscaling)"
	versionIsV2 = "(has(self.autoscalerOptions) && has(self.autoscalerOptions.version) && self.autoscalerOptions.version == 'v2')"
	ftOptions   = "has(self.gcsFaultToleranceOptions)"
	rocksDB     = "(has(self.gcsFaultToleranceOptions) && has(self.gcsFaultToleranceOptions.backend) && self.gcsFaultToleranceOptions.backend == 'rocksdb')"
	tokenAuth   = "(has(self.authOptions) && has(self.authOptions.mode) && self.authOptions.mode == 'token')"
	tlsOn       = "(has(self.tlsOptions) && has(self.tlsOptions.enabled) && self.tlsOptions.enabled)"
	hasVersion  = "(has(self.rayVersion) && self.rayVersion != '')"
	goodVersion = "self.rayVersion.matches('" + isVersion + "')"

	headTemplate  = "self.headGroupSpec.template"
	headContainer = headTemplate + ".spec.containers[0]"
	hasContainer  = "has(" + headTemplate + ".spec) && has(" + headTemplate + ".spec.containers) && size(" + headTemplate + ".spec.containers) > 0"

	// wantsV2ByEnv is how the autoscaler v2 was asked for before there was a field.
	wantsV2ByEnv = "(" + hasContainer + " && has(" + headContainer + ".env) && " + headContainer +
		".env.exists(e, e.name == 'RAY_enable_autoscaler_v2' && has(e.value) && e.value in ['1', 'true']))"
	autoscalerV2 = "(" + versionIsV2 + " || " + wantsV2ByEnv + ")"
)

// headEnv is true if some variable of the Ray container of the head, e, meets the condition.
func headEnv(condition string) string {
	return "(" + hasContainer + " && has(" + headContainer + ".env) && " + headContainer + ".env.exists(e, " + condition + "))"
}

// headMount is true if some mount of the Ray container of the head, m, meets the condition.
func headMount(condition string) string {
	return "(" + hasContainer + " && has(" + headContainer + ".volumeMounts) && " + headContainer + ".volumeMounts.exists(m, " + condition + "))"
}

// inHeadPod is true if some entry of a list of the head's Pod, x, meets the condition.
func inHeadPod(list, condition string) string {
	return "(has(" + headTemplate + ".spec) && has(" + headTemplate + ".spec." + list + ") && " + headTemplate + ".spec." + list + ".exists(x, " + condition + "))"
}

// allGroups is true if each worker group, g, meets the condition.
func allGroups(condition string) string {
	return "(!has(self.workerGroupSpecs) || self.workerGroupSpecs.all(g, " + condition + "))"
}

// noMoreGroups is true of an update after which no more groups than before fail the condition. Which groups they are
// would take comparing each with each, beyond any budget; the Go rules do. There are groups where it is asked.
func noMoreGroups(condition string) string {
	return noMore("self.workerGroupSpecs", "g", condition)
}

// noMore does the same for the items of another list or the keys of a map.
func noMore(list, item, condition string) string {
	count := list + ".filter(" + item + ", !(" + condition + ")).size()"
	return count + " <= " + inOld(count)
}

// unchanged is true of an update that leaves a path below the node as it was.
func unchanged(path string) string {
	is := present("self", path)
	return "(" + is + ") == (" + inOld(is) + ") && (!(" + is + ") || self." + path + " == oldSelf." + path + ")"
}

var selfWord = regexp.MustCompile(`\bself\b`)

// inOld is an expression about the old value of the node.
func inOld(expression string) string { return selfWord.ReplaceAllString(expression, "oldSelf") }

// present is has() for each field on the way and the field itself.
func present(root, path string) string {
	var checks []string
	for name := range strings.SplitSeq(path, ".") {
		root += "." + name
		checks = append(checks, "has("+root+")")
	}
	return strings.Join(checks, " && ")
}

// containersField is what rules on the container of the head blame: an index cannot be part of a path.
const containersField = ".headGroupSpec.template.spec.containers"

const (
	dns1035Label     = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
	dns1123Label     = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	dns1123Subdomain = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
)

// Versions of Ray as the Go rules read them: an optional v, two or more numbers, then anything.
const (
	isVersion    = `^\\s*v?(0|[1-9][0-9]*)(\\.[0-9]+)+([^0-9\\n].*)?$`
	fromRay252   = `^\\s*v?(2\\.0*(5[2-9]|[6-9][0-9]|[1-9][0-9]{2,})|([3-9]|[1-9][0-9]+)\\.[0-9]+)([^0-9\\n].*)?$`
	fromRay255   = `^\\s*v?(2\\.0*(5[5-9]|[6-9][0-9]|[1-9][0-9]{2,})|([3-9]|[1-9][0-9]+)\\.[0-9]+)([^0-9\\n].*)?$`
	fromRay256   = `^\\s*v?(2\\.0*(5[6-9]|[6-9][0-9]|[1-9][0-9]{2,})|([3-9]|[1-9][0-9]+)\\.[0-9]+)([^0-9\\n].*)?$`
	versionField = ".rayVersion"
)

// sameVersion is true of an update of a cluster that keeps its version of Ray.
var sameVersion = unchanged("rayVersion")

// needsVersion is the message of the rules on versions.
func needsVersion(feature, version string) string {
	return feature + " needs Ray " + version + " or later; give the version of Ray in the images, as in " + version
}
