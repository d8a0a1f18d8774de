package cel

import (
	"cmp"
	"slices"
	"strings"

	"github.com/raygate/raygate/pkg/validation/rule"
)

// AddedToHead keeps the name of a container that the operator adds out of a list of containers of the head.
func AddedToHead(list, name, when, what string) rule.CEL {
	return rule.CEL{Field: ".headGroupSpec.template.spec." + list,
		When:  when,
		Valid: "!" + InHeadPod(list, "x.name == '"+name+"'"),
		Says:  "the operator adds " + what + "; use another name"}
}

// HeadContainers requires valid names in a list of containers of the head. The condition that is true of most Pods comes first: they have
// containers, and no init containers.
func HeadContainers(list string) rule.CEL {
	either := []string{"self.spec." + list + ".all(c, " + containerNamed("c") + ")", Absent("self", "spec."+list)}
	if list == "initContainers" {
		slices.Reverse(either)
	}
	return rule.CEL{Node: "headGroupSpec.template", Field: ".spec." + list, Partly: true,
		Valid: strings.Join(either, " || "),
		Says:  namesOfContainers}
}

// V2Variable is the variable that selected the autoscaler v2 before there was a field.
const V2Variable = "RAY_enable_autoscaler_v2"

// GCSNode is where fault tolerance of the GCS is described.
const GCSNode = "gcsFaultToleranceOptions"

// GCSVariable refuses a variable of the head that options replace. option is the one that replaces it, with a dot before it, or empty.
func GCSVariable(when, variable, option string) rule.CEL {
	return OnHead(when, HeadEnv("e.name == '"+variable+"'"), variable+" is set by the operator; use gcsFaultToleranceOptions"+option)
}

// OfRedis refuses an option of the backend redis next to the backend rocksdb.
func OfRedis(option, absent string) rule.CEL {
	return rule.CEL{Node: GCSNode, Field: "." + option, Reason: rule.Forbidden,
		Valid: "!has(self.backend) || self.backend != 'rocksdb' || " + absent,
		Says:  "belongs to the backend redis; remove it"}
}

// Credential allows an option to have a value or a source for it, not both.
func Credential(option string) rule.CEL {
	return rule.CEL{Node: GCSNode + "." + option, Reason: rule.Forbidden,
		Valid: "!has(self.value) || self.value == '' || !has(self.valueFrom)",
		Says:  "give value or valueFrom, not both"}
}

// StorageName requires the name of an object of a kind in an option.
func StorageName(option, kind string) rule.CEL {
	return rule.CEL{Node: GCSNode + ".storage." + option, Ratchet: rule.ByServer,
		Valid: "self == '' || self.matches('" + dns1123Subdomain + "')",
		Says:  "must be the name of a " + kind + ": lower-case letters, digits, dashes and dots"}
}

// Names in the options of the history server.
const (
	CollectorNode = "historyServerOptions.collectorOptions"
	CollectorOwn  = "['POD_IP', 'FQ_RAY_IP', 'RAY_CLUSTER_NAME', 'RAY_CLUSTER_NAMESPACE', 'RAY_ROLE', 'OWNER_KIND', 'OWNER_NAME', 'EVENTS_PORT']"
	Connection    = "AZURE_STORAGE_CONNECTION_STRING"
	AccountURL    = "AZURE_STORAGE_ACCOUNT_URL"
)

// NotOn is true unless the storage is the one Given, in one of the usual spellings. CEL compares texts of any length with short ones at no
// cost, but lowering their case exceeds the budget. So does finding the last of repeated variables, which is the one that counts. The Go
// package covers the cases that NotOn misses.
func NotOn(backend string) string {
	written := map[string]string{"AZUREBLOB": "AzureBlob", "ALIYUNOSS": "AliyunOSS"}[backend]
	return "!self.exists(e, e.name == 'STORAGE_BACKEND') || self.exists(e, e.name == 'STORAGE_BACKEND' && (!has(e.value) || " +
		"!(e.value in ['" + backend + "', '" + strings.ToLower(backend) + "', '" + cmp.Or(written, backend) + "'])))"
}

// Given is true of a list that contains the variable with a value or a source of it.
func Given(variable string) string {
	return "self.exists(e, e.name == '" + variable + "' && ((has(e.value) && e.value != '') || has(e.valueFrom)))"
}

// AnyAuthMode is true if there is a text for the mode.
const AnyAuthMode = "self.exists(e, e.name == 'AZURE_STORAGE_AUTH_MODE' && has(e.value) && e.value != '')"

// StorageNeeds demands a variable for a storage, in some modes of authentication or in all. The Go rule names the storage as the user wrote it.
func StorageNeeds(backend string, modes []string, variable string) rule.CEL {
	unless := NotOn(backend)
	if len(modes) > 0 {
		unless += " || !self.exists(e, e.name == 'AZURE_STORAGE_AUTH_MODE' && has(e.value) && e.value in ['" + strings.Join(modes, "', '") + "'])"
	}
	return rule.CEL{Node: CollectorNode + ".env", Reason: rule.Required, OwnWords: true, Ratchet: rule.ByServer,
		Valid: unless + " || " + Given(variable),
		Says:  variable + " must be among them for the storage " + backend}
}

// Messages about exceptions.
const (
	LetsIn  = "mode DenyAllEgress lets all traffic in; remove the rules, or use DenyAll"
	LetsOut = "mode DenyAllIngress lets all traffic out; remove the rules, or use DenyAll"
)

// Exceptions refuses exceptions from a denial that the mode does not make, for the head or for workers.
func Exceptions(of, list, mode, says string) rule.CEL {
	return rule.CEL{Node: "networkPolicy", Field: "." + of + "." + list, Reason: rule.Forbidden,
		Valid: "!has(self.mode) || self.mode != '" + mode + "' || !(" + Present("self", of+"."+list) + ") || size(self." + of + "." + list + ") == 0",
		Says:  says}
}

// GroupExceptions is Exceptions for the groups of the policy.
func GroupExceptions(list, mode, says string) rule.CEL {
	none := "!has(g." + list + ") || size(g." + list + ") == 0"
	return rule.CEL{Node: "networkPolicy", Field: ".workerGroups", Reason: rule.Forbidden,
		Valid:   "!has(self.mode) || self.mode != '" + mode + "' || !has(self.workerGroups) || self.workerGroups.all(g, " + none + ")",
		NoWorse: noMore("self.workerGroups", "g", none),
		Says:    says}
}

// TokenNeeds is the message of the rules on versions for authentication by token.
var TokenNeeds = NeedsVersion("authOptions.mode token", "2.52.0")

// TLSNames are the variables by which Ray finds its certificates.
const TLSNames = "['RAY_USE_TLS', 'RAY_TLS_SERVER_CERT', 'RAY_TLS_SERVER_KEY', 'RAY_TLS_CA_CERT']"

// Messages about names that TLS needs.
const (
	TLSVariables = "RAY_USE_TLS, RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY and RAY_TLS_CA_CERT are set by the operator with tlsOptions.enabled; remove them"
	TLSMountName = "the operator mounts ray-tls with tlsOptions.enabled; remove it"
	TLSMountPath = "the operator mounts its certificates at /etc/ray/tls; use another path"
)

// OnHead reserves names on the container of the head that the operator needs if a feature is on.
func OnHead(when, broken, says string) rule.CEL {
	return rule.CEL{Field: ContainersField, Reason: rule.Forbidden,
		When:     when,
		Valid:    "!" + broken,
		Says:     says,
		OwnWords: says == TLSVariables}
}

// TLSOnAutoscaler reserves names on the autoscaler that TLS needs.
func TLSOnAutoscaler(list, broken, says string) rule.CEL {
	return rule.CEL{Field: ".autoscalerOptions." + list, Reason: rule.Forbidden,
		When:     TLSOn,
		Valid:    "!(" + Present("self", "autoscalerOptions."+list) + ") || !self.autoscalerOptions." + list + ".exists(x, " + broken + ")",
		Says:     says,
		OwnWords: says == TLSVariables}
}
