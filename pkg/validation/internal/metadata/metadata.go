// Package metadata has the rules that all kinds share: names, labels, annotations, and fields that old clients lose.
package metadata

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/schedule"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// NameRules are the rules on the names of one kind.
type NameRules struct {
	tooLong, malformed *rule.Rule
	max                int
	why                string
}

// Names are the inputs of the rules on the names of one kind: at most Max characters, because of Why, and a form that Services accept. Both
// rules have their ids, and the parts of KubeRay that enforce them.
type Names struct {
	Kind               rule.Part
	TooLong, Malformed string
	LengthBy, FormBy   []rule.PeerLayer
	Max                int
	Why                string
}

// NewNameRules declares the rules. Names cannot change, so a stored object with a bad one stays writable.
func NewNameRules(n Names) NameRules {
	return NameRules{max: n.Max, why: n.Why,
		tooLong: rule.New(rule.Rule{ID: n.TooLong, Kind: string(n.Kind), Field: "metadata.name", Condition: fmt.Sprintf("longer than %d", n.Max), Peer: n.LengthBy,
			CEL: []rule.CEL{{Field: ".metadata.name", OwnWords: true, Ratchet: rule.CreateOnly, Valid: fmt.Sprintf("self.metadata.name.size() <= %d", n.Max),
				Says: fmt.Sprintf("has too many characters, at most %d are possible, %s", n.Max, n.Why)}}}),
		malformed: rule.New(rule.Rule{ID: n.Malformed, Kind: string(n.Kind), Field: "metadata.name", Condition: "not a DNS-1035 label", Peer: n.FormBy,
			Remedy: "use lower-case letters, digits and dashes, beginning with a letter and not ending with a dash, as in my-cluster-1",
			CEL:    []rule.CEL{{Field: ".metadata.name", Ratchet: rule.CreateOnly, Valid: "self.metadata.name.matches('" + cel.DNS1035Label + "')"}}})}
}

// generatedSuffix is the number of characters that the API server adds to generateName.
const generatedSuffix = 5

var dns1035 = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// CheckName checks the name that the object has, or the one that it will get from generateName.
func CheckName(out *rule.Report, meta *metav1.ObjectMeta, r NameRules) {
	path, name, shown := field.NewPath("metadata", "name"), meta.Name, meta.Name
	if name == "" && meta.GenerateName != "" {
		path, shown = field.NewPath("metadata", "generateName"), meta.GenerateName
		name = meta.GenerateName + strings.Repeat("x", generatedSuffix)
	}
	if name == "" {
		out.Required(r.malformed, path, "give the object a name")
		return
	}
	out.When(len(name) > r.max).Invalid(r.tooLong, path, shown, fmt.Sprintf("has %d characters, at most %d are possible, %s", len(name), r.max, r.why))
	out.When(!dns1035.MatchString(name)).Invalid(r.malformed, path, shown)
}

// ObjectRules are the rules on the name of an object, and on a spec that is absent.
type ObjectRules struct {
	Names  NameRules
	Absent *rule.Rule
}

// Check checks the common parts of all kinds, and reports whether there is more to check. Without a spec it only checks labels that are
// independent of the spec.
func (r ObjectRules) Check(out *rule.Report, object Object, meta *metav1.ObjectMeta, withoutSpec bool, o rule.Options) bool {
	CheckName(out, meta, r.Names)
	if withoutSpec {
		CheckSchedulerLabels(out, meta.Labels, o, field.NewPath("metadata", "labels"))
		out.Required(r.Absent, field.NewPath("spec"))
		return false
	}
	Check(out, meta, o, field.NewPath("metadata"))
	CheckObjectSize(out, object)
	return true
}

// NameLength is how long the name is, or is going to be.
func NameLength(meta *metav1.ObjectMeta) int {
	if meta.Name == "" && meta.GenerateName != "" {
		return len(meta.GenerateName) + generatedSuffix
	}
	return len(meta.Name)
}

// CheckSchedulerLabels checks labels that become fields of a PodGroup if Volcano is in use.
func CheckSchedulerLabels(out *rule.Report, labels map[string]string, o rule.Options, path *field.Path) {
	switch {
	case o.BatchScheduler == nil:
		out = out.Maybe()
	case *o.BatchScheduler != "volcano":
		return
	}
	mode := labels[rayv1.LabelVolcanoNetworkTopologyMode]
	if mode == "" {
		return // the other label is read only next to this one
	}
	rule.OneOf(out, rc579, path.Key(rayv1.LabelVolcanoNetworkTopologyMode), mode, "hard", "soft")
	if tier, set := labels[rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed]; set {
		n, err := strconv.ParseInt(tier, 10, 32)
		out.When(err != nil || n < 1).Invalid(rc579, path.Key(rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed), tier, "must be a whole number of at least 1")
	}
}

var rc579 = rule.New(rule.Rule{ID: "RC-579", Kind: rule.KindAny, Field: "metadata.labels[volcano.sh/network-topology-mode], [volcano.sh/network-topology-highest-tier-allowed]", Condition: "mode not hard or soft; tier, next to a mode, not a whole number of at least 1 (warning where the batch scheduler is not known, nothing without Volcano)", Peer: rule.ByStep, Mixed: true, Depends: "batch scheduler", Same: []string{"RC-126", "RJ-067"},
	Policies: []rule.Policy{
		{Warning: true, Field: "metadata.labels[volcano.sh/network-topology-mode]", Valid: "!" + cel.KeyGiven("labels", cel.LabelTopologyMode) + " || labels[" + cel.LabelTopologyMode + "] in ['hard', 'soft']",
			Says: `supported values: "hard", "soft"`},
		{Warning: true, Field: "metadata.labels[volcano.sh/network-topology-highest-tier-allowed]", Valid: "!" + cel.KeyGiven("labels", cel.LabelTopologyMode) + " || !(" + cel.LabelTopologyTier + " in labels) || (labels[" + cel.LabelTopologyTier + "].matches('^[0-9]{1,10}$') && int(labels[" + cel.LabelTopologyTier + "]) >= 1 && int(labels[" + cel.LabelTopologyTier + "]) <= 2147483647)",
			Says: "must be a whole number of at least 1"},
	}})

// Check reports labels and annotations without the effect that they seem to have. They apply to a RayJob and a RayService as well as to a
// RayCluster, which inherits them.
func Check(out *rule.Report, meta *metav1.ObjectMeta, o rule.Options, path *field.Path) {
	checkAnnotations(out, meta.Annotations, path.Child("annotations"))
	CheckSchedulerLabels(out, meta.Labels, o, path.Child("labels"))
	checkLabels(out, meta, o, path.Child("labels"))
}

var rc568 = rule.New(rule.Rule{ID: "RC-568", Kind: rule.KindAny, Field: "metadata.annotations[ray.io/gcs-ft-deletion-timeout]", Condition: "not a positive integer",
	Remedy:   "is ignored and 300 is used; give whole seconds above 0, as in 600",
	Policies: []rule.Policy{{Field: "metadata.annotations[ray.io/gcs-ft-deletion-timeout]", Valid: "!(" + cel.AnnotationDeadline + " in annotations) || annotations[" + cel.AnnotationDeadline + "].matches('^[+]?0*[1-9][0-9]{0,8}$')"}}})
var rc569 = rule.New(rule.Rule{ID: "RC-569", Kind: rule.KindAny, Field: "metadata.annotations[ray.io/ft-enabled]", Condition: "neither true nor false", Remedy: "means off; use true or false",
	Policies: []rule.Policy{{Field: "metadata.annotations[ray.io/ft-enabled]", Valid: "!(" + cel.AnnotationFT + " in annotations) || annotations[" + cel.AnnotationFT + "].lowerAscii() in ['true', 'false']"}}})
var rc570 = rule.New(rule.Rule{ID: "RC-570", Kind: rule.KindAny, Field: "metadata.annotations: overwrite-container-cmd, enable-serve-service, disable-provisioned-head-restart, wait-for-head, probes, login-shell, tpu-environment", Condition: "not true or false"})

// switches are the annotations with true or false, and whether capitals are accepted. The operator treats other texts as off or as the
// default.
var switches = []struct {
	key      string
	capitals bool
	by       *rule.Rule
	says     string
}{
	{rayv1.AnnotationFTEnabled, true, rc569, "means off; use true or false"},
	{rayv1.AnnotationOverwriteContainerCmd, true, rc570, countsAsFalse},
	{rayv1.AnnotationEnableServeService, false, rc570, countsAsFalse},
	{rayv1.AnnotationDisableProvisionedHeadRestart, false, rc570, countsAsFalse},
	// In these a cluster decides otherwise than the operator does for all.
	{rayv1.AnnotationWaitForHead, true, rc570, changesNothing},
	{rayv1.AnnotationProbes, true, rc570, changesNothing},
	{rayv1.AnnotationLoginShell, true, rc570, changesNothing},
	{rayv1.AnnotationTPUEnvironment, true, rc570, changesNothing},
}

const (
	countsAsFalse  = "is not understood and counts as false; use true or false"
	changesNothing = "is not understood and changes nothing; use true or false"
)

// expiryRemedies are the remedies for the annotations about idle and old clusters.
var expiryRemedies = map[string]string{
	rayv1.AnnotationIdleTimeout:  turnsOff + "use a duration above 0, as in 30m",
	rayv1.AnnotationMaxAge:       turnsOff + "use a duration above 0, as in 24h",
	rayv1.AnnotationExpiryAction: turnsOff + "use Suspend or Delete",
	rayv1.AnnotationKeepUntil:    turnsOff + "use a time, as in 2026-11-26T18:00:00Z",
	rayv1.AnnotationSuspendGrace: "is not understood; use a duration above 0, as in 30m",
}

const (
	noBudget = "is not understood, so that no Pods are protected; use a number above 0 or a percentage, as in 1 or 25%"
	turnsOff = "is not understood, so that the cluster is neither suspended nor deleted; "
	// ValidDuration is a Go duration above 0, for AnnotationPolicy.
	ValidDuration = `matches('^[+]?([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+$') && duration(annotations[%[1]s]) > duration('0s')`
	validTime     = `matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$')`
)

var rc592 = rule.New(rule.Rule{ID: "RC-592", Kind: rule.KindAny, Field: "metadata.annotations: idle-timeout, max-age, expiry-action, keep-until, suspend-grace",
	Condition: "not a duration above 0, an action or a time in RFC 3339",
	Policies: []rule.Policy{
		expiryPolicy(rayv1.AnnotationIdleTimeout, ValidDuration), expiryPolicy(rayv1.AnnotationMaxAge, ValidDuration),
		expiryPolicy(rayv1.AnnotationExpiryAction, "matches('^(Suspend|Delete)$')"), expiryPolicy(rayv1.AnnotationKeepUntil, validTime),
		expiryPolicy(rayv1.AnnotationSuspendGrace, ValidDuration),
	}})
var rc593 = rule.New(rule.Rule{ID: "RC-593", Kind: rule.KindAny, Field: "metadata.annotations: suspend-schedule, resume-schedule, schedule-time-zone",
	Condition: "neither five cron fields nor a descriptor such as @daily; not a known time zone"})

var rc596 = rule.New(rule.Rule{ID: "RC-596", Kind: rule.KindAny, Field: "metadata.annotations[" + rayv1.AnnotationDisruptionBudget + "]", Condition: "not a number above 0 or a percentage from 1% to 100%",
	Policies: []rule.Policy{AnnotationPolicy(rayv1.AnnotationDisruptionBudget, "matches('"+rayv1.DisruptionBudgetPattern+"')", noBudget)}})

func expiryPolicy(key, valid string) rule.Policy {
	return AnnotationPolicy(key, valid, expiryRemedies[key])
}

// AnnotationPolicy is about an annotation that may be absent. valid is the rest of a CEL expression that begins with its value, with %[1]s for
// the quoted key.
func AnnotationPolicy(key, valid, says string) rule.Policy {
	quoted := "'" + key + "'"
	return rule.Policy{Field: "metadata.annotations[" + key + "]", Says: says,
		Valid: "!(" + quoted + " in annotations) || annotations[" + quoted + "]." + strings.ReplaceAll(valid, "%[1]s", quoted)}
}

// checkAnnotations reports annotations whose value the operator does not understand.
func checkAnnotations(out *rule.Report, annotations map[string]string, path *field.Path) {
	if v, set := annotations[rayv1.AnnotationGCSFTDeletionTimeout]; set {
		n, err := strconv.Atoi(v)
		out.When(err != nil || n <= 0).Invalid(rc568, path.Key(rayv1.AnnotationGCSFTDeletionTimeout), v)
	}
	checkExpiry(out, annotations, path)
	if text, set := annotations[rayv1.AnnotationDisruptionBudget]; set {
		out.When(rayv1.DisruptionBudgetOf(annotations) == nil).Invalid(rc596, path.Key(rayv1.AnnotationDisruptionBudget), text, noBudget)
	}
	for _, s := range switches {
		v, set := annotations[s.key]
		text := v
		if s.capitals {
			text = strings.ToLower(v)
		}
		out.When(set && text != "true" && text != "false").Invalid(s.by, path.Key(s.key), v, s.says)
	}
}

// checkExpiry reports annotations about idle and old clusters, and their schedules.
func checkExpiry(out *rule.Report, annotations map[string]string, path *field.Path) {
	_, invalid := rayv1.ExpiryOf(annotations)
	for _, key := range invalid {
		out.Invalid(rc592, path.Key(key), annotations[key], expiryRemedies[key])
	}
	for _, key := range []string{rayv1.AnnotationSuspendSchedule, rayv1.AnnotationResumeSchedule} {
		if text, set := annotations[key]; set {
			_, err := schedule.Parse(text)
			out.When(err != nil).Invalid(rc593, path.Key(key), text, turnsOff+"use minute, hour, day of month, month and day of week, as in 0 18 * * 1-5")
		}
	}
	if zone, set := annotations[rayv1.AnnotationScheduleTimeZone]; set && !schedule.KnownZone(zone) {
		out.Invalid(rc593, path.Key(rayv1.AnnotationScheduleTimeZone), zone, turnsOff+"use the name of a time zone, as in Europe/Vienna")
	}
}

// originPrefix is the prefix of the labels that name the object for which a cluster was created.
const originPrefix = "ray.io/originated-from"

var rc577 = rule.New(rule.Rule{ID: "RC-577", Kind: rule.KindAny, Field: "metadata.labels[ray.io/gang-scheduling-enabled]", Condition: "value false (or anything but true)",
	Remedy:   "turns gang scheduling on, whatever its value; remove the label to turn it off",
	Policies: []rule.Policy{{Field: "metadata.labels[ray.io/gang-scheduling-enabled]", Valid: "!(" + cel.LabelGang + " in labels) || labels[" + cel.LabelGang + "] == 'true'"}}})
var x504 = rule.New(rule.Rule{ID: "X-504", Kind: rule.KindAny, Field: "metadata.labels", Condition: "a label with the prefix ray.io/originated-from on an object without an owner",
	Remedy: "is set by the operator on clusters of a RayJob or a RayService; remove it"})

func checkLabels(out *rule.Report, meta *metav1.ObjectMeta, o rule.Options, path *field.Path) {
	labels := meta.Labels
	gang, set := labels[rayv1.LabelGangSchedulingEnabled]
	// False disables gang scheduling for one scheduler only, that of Kubernetes.
	out.When(set && gang != "true" && o.Scheduler() != "kubernetes-was").Invalid(rc577, path.Key(rayv1.LabelGangSchedulingEnabled), gang)
	checkForeignScheduler(out, labels, o.BatchScheduler, path)
	if metav1.GetControllerOf(meta) == nil {
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			out.When(strings.HasPrefix(key, originPrefix)).Invalid(x504, path.Key(key), labels[key])
		}
	}
}

// schedulerOf maps labels to the batch scheduler that reads them.
var schedulerOf = []struct{ label, scheduler string }{
	{rayv1.LabelVolcanoQueueName, "volcano"},
	{rayv1.LabelVolcanoNetworkTopologyMode, "volcano"},
	{rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed, "volcano"},
	{rayv1.LabelYuniKornAppID, "yunikorn"},
	{rayv1.LabelYuniKornQueue, "yunikorn"},
	{rayv1.LabelKAIQueue, "kai-scheduler"},
}

var rc578 = rule.New(rule.Rule{ID: "RC-578", Kind: rule.KindAny, Field: "metadata.labels for batch schedulers", Condition: "set for a batch scheduler that the operator does not run with"})

func checkForeignScheduler(out *rule.Report, labels map[string]string, scheduler *string, path *field.Path) {
	if scheduler == nil {
		return
	}
	v, set := labels[rayv1.LabelPriorityClassName]
	out.When(set && *scheduler == "").Invalid(rc578, path.Key(rayv1.LabelPriorityClassName), v, "is ignored: the operator runs without a batch scheduler")
	for _, s := range schedulerOf {
		v, set := labels[s.label]
		out.When(set && s.scheduler != *scheduler).Invalid(rc578, path.Key(s.label), v, "is ignored: the operator runs without the batch scheduler "+s.scheduler)
	}
}

// maxObjectSize leaves room, below the 1.5 MiB limit of etcd, for status and managed fields.
const maxObjectSize = 1 << 20

var rc585 = rule.New(rule.Rule{ID: "RC-585", Kind: rule.KindAny, Field: "spec", Condition: "the object takes more than 1 MiB"})

// CheckObjectSize reports an object that is larger, or nearly as large, as etcd allows.
func CheckObjectSize(out *rule.Report, object any) {
	data, err := json.Marshal(object)
	if err != nil || len(data) <= maxObjectSize {
		return
	}
	out.Invalid(rc585, field.NewPath("spec"), field.OmitValueType{}, fmt.Sprintf(
		"the object takes %d bytes, near the limit of etcd; stay below %d, for example with ConfigMaps for long texts", len(data), maxObjectSize))
}

// IsTrue reports whether a switch is set and true.
func IsTrue(b *bool) bool { return ptr.Deref(b, false) }

// LowerTrue interprets a value as the peer does for most of its annotations.
func LowerTrue(s string) bool { return strings.EqualFold(s, "true") }

// Object is a pointer to an object of one of the kinds that this package supports.
type Object interface {
	metav1.Object
	runtime.Object
}

// YAMLMap reads YAML for a map. Empty text gives an empty map. Repeated keys are no error here.
func YAMLMap(text string) (map[string]any, error) {
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		return nil, PlainYAMLError(err)
	}
	return m, nil
}

// LocalPackages finds code in a runtime environment that is a folder or a file, and not a URI that any node can read.
func LocalPackages(runtimeEnv any, found func(field, local string)) {
	env, _ := runtimeEnv.(map[string]any)
	check := func(field string, value any) {
		if text, _ := value.(string); text != "" && !strings.Contains(text, "://") {
			found(field, text)
		}
	}
	check("working_dir", env["working_dir"])
	modules, _ := env["py_modules"].([]any)
	for i, module := range modules {
		check(fmt.Sprintf("py_modules[%d]", i), module)
	}
}

// PlainYAMLError removes names of Go types from the texts that users see.
func PlainYAMLError(err error) error {
	if _, text, ok := strings.Cut(err.Error(), "yaml: "); ok {
		return errors.New(rule.Clipped(strings.TrimPrefix(text, "unmarshal errors:\n  ")))
	}
	return errors.New("it is something else")
}
