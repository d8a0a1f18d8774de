package celrules

var tokenNeeds = needsVersion("authOptions.mode token", "2.52.0")

var authRules = []Rule{
	{ID: "RC-091", Part: ClusterSpec, Field: versionField, Reason: Required,
		Valid: "!" + tokenAuth + " || " + hasVersion,
		Says:  tokenNeeds},
	{ID: "RC-092", Part: ClusterSpec, Field: versionField,
		Valid:   "!" + tokenAuth + " || !" + hasVersion + " || " + goodVersion,
		NoWorse: sameVersion,
		Says:    tokenNeeds},
	{ID: "RC-093", Part: ClusterSpec, Field: versionField,
		Valid:   "!" + tokenAuth + " || !" + hasVersion + " || !" + goodVersion + " || self.rayVersion.matches('" + fromRay252 + "')",
		NoWorse: sameVersion,
		Says:    tokenNeeds},
	{ID: "RC-094", Part: ClusterSpec, Field: versionField,
		Valid: "!" + tokenAuth + " || !has(self.authOptions.enableK8sTokenAuth) || !self.authOptions.enableK8sTokenAuth || !" + hasVersion +
			" || !self.rayVersion.matches('" + fromRay252 + "') || self.rayVersion.matches('" + fromRay255 + "')",
		NoWorse: sameVersion,
		Says:    needsVersion("authOptions.enableK8sTokenAuth", "2.55.0")},
	{ID: "RC-095", Part: ClusterSpec, Node: "authOptions", Field: ".secretName", Reason: Forbidden,
		Valid: "!has(self.mode) || self.mode != 'token' || !has(self.enableK8sTokenAuth) || !self.enableK8sTokenAuth || !has(self.secretName) || self.secretName == ''",
		Says:  "is not used with enableK8sTokenAuth; keep one of the two"},
	{ID: "RC-096", Part: ClusterSpec, Node: "authOptions", Field: ".mode",
		Valid: "!has(self.enableK8sTokenAuth) || !self.enableK8sTokenAuth || (has(self.mode) && self.mode == 'token')",
		Says:  "must be token with enableK8sTokenAuth"},
}

// tlsNames are the variables by which Ray finds its certificates.
const tlsNames = "['RAY_USE_TLS', 'RAY_TLS_SERVER_CERT', 'RAY_TLS_SERVER_KEY', 'RAY_TLS_CA_CERT']"

var tlsRules = []Rule{
	tlsOnHead("RC-107", headEnv("e.name in "+tlsNames), tlsVariables),
	tlsOnHead("RC-108", headMount("m.name == 'ray-tls'"), tlsMountName),
	tlsOnHead("RC-109", headMount("m.mountPath == '/etc/ray/tls'"), tlsMountPath),
	tlsOnAutoscaler("RC-113", "env", "x.name in "+tlsNames, tlsVariables),
	tlsOnAutoscaler("RC-114", "volumeMounts", "x.name == 'ray-tls'", tlsMountName),
	tlsOnAutoscaler("RC-115", "volumeMounts", "x.mountPath == '/etc/ray/tls'", tlsMountPath),
	{ID: "RC-573", Part: ClusterSpec, Field: ".headGroupSpec.template.spec.volumes", Reason: Forbidden,
		Valid: "!" + tlsOn + " || !" + inHeadPod("volumes", "x.name == 'ray-tls'"),
		Says:  "the operator adds the volume ray-tls; use another name"},
}

const (
	tlsVariables = "RAY_USE_TLS, RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY and RAY_TLS_CA_CERT are set by the operator with tlsOptions.enabled; remove them"
	tlsMountName = "the operator mounts ray-tls with tlsOptions.enabled; remove it"
	tlsMountPath = "the operator mounts its certificates at /etc/ray/tls; use another path"
)

func tlsOnHead(id, broken, says string) Rule {
	return Rule{ID: id, Part: ClusterSpec, Field: containersField, Reason: Forbidden,
		Valid:    "!" + tlsOn + " || !" + broken,
		Says:     says,
		OwnWords: says == tlsVariables}
}

func tlsOnAutoscaler(id, list, broken, says string) Rule {
	return Rule{ID: id, Part: ClusterSpec, Field: ".autoscalerOptions." + list, Reason: Forbidden,
		Valid:    "!" + tlsOn + " || !(" + present("self", "autoscalerOptions."+list) + ") || !self.autoscalerOptions." + list + ".exists(x, " + broken + ")",
		Says:     says,
		OwnWords: says == tlsVariables}
}
