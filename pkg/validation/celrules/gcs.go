package celrules

const gcsNode = "gcsFaultToleranceOptions"

var gcsRules = []Rule{
	{ID: "RC-055", Part: ClusterSpec, Field: ".headGroupSpec.rayStartParams['redis-password']", Reason: Forbidden,
		Valid: "!" + ftOptions + " || !has(self.headGroupSpec.rayStartParams) || !('redis-password' in self.headGroupSpec.rayStartParams) || self.headGroupSpec.rayStartParams['redis-password'] == ''",
		Says:  "use gcsFaultToleranceOptions.redisPassword"},
	redisVariable("RC-056", "REDIS_PASSWORD", "redisPassword"),
	redisVariable("RC-057", "RAY_REDIS_ADDRESS", "redisAddress"),
	{ID: "RC-069", Part: ClusterSpec, Node: "headGroupSpec.rayStartParams", Reason: Forbidden,
		Valid: "!('redis-username' in self) || self['redis-username'] == ''",
		Says:  "use gcsFaultToleranceOptions.redisUsername"},
	{ID: "RC-069", Part: ClusterSpec, Node: "headGroupSpec.template", Field: ".spec.containers", Reason: Forbidden,
		Valid: "!(" + oneContainer + ") || !has(self.spec.containers[0].env) || self.spec.containers[0].env.all(e, e.name != 'REDIS_USERNAME')",
		Says:  "REDIS_USERNAME is set by the operator; use gcsFaultToleranceOptions.redisUsername"},

	ofRedis("RC-060", "redisAddress", "!has(self.redisAddress) || self.redisAddress == ''"),
	ofRedis("RC-061", "redisUsername", "!has(self.redisUsername)"),
	ofRedis("RC-062", "redisPassword", "!has(self.redisPassword)"),
	ofRedis("RC-063", "externalStorageNamespace", "!has(self.externalStorageNamespace) || self.externalStorageNamespace == ''"),
	{ID: "RC-068", Part: ClusterSpec, Node: gcsNode, Field: ".storage", Reason: Forbidden,
		Valid: "!has(self.storage) || (has(self.backend) && self.backend == 'rocksdb')",
		Says:  "belongs to the backend rocksdb; remove it, or set backend to rocksdb"},
	credential("redisUsername"),
	credential("redisPassword"),

	{ID: "RC-064", Part: ClusterSpec, Node: gcsNode + ".storage", Field: ".claimName", Reason: Forbidden,
		Valid: "!has(self.claimName) || self.claimName == '' || (!has(self.size) && !has(self.storageClassName) && (!has(self.accessModes) || size(self.accessModes) == 0))",
		Says:  "an existing claim has its own size, storageClassName and accessModes; remove those, or claimName"},
	{ID: "RC-542", Part: ClusterSpec, Node: gcsNode + ".storage", Field: ".size", Unchanged: []string{"size"},
		Valid: "!has(self.size) || (type(self.size) == int ? self.size > 0 : string(self.size).matches(r'^\\+?[\\d.]*[1-9]'))", // quantity() takes hours for 1e-999999999
		Says:  "must be above 0, as in 1Gi"},
	{ID: "RC-543", Part: ClusterSpec, Node: gcsNode + ".storage.subPath", Ratchet: ByServer,
		Valid: "!self.startsWith('/') && !self.split('/').exists(s, s == '..')",
		Says:  "must be relative and without .., as in ray/gcs"},
	{ID: "RC-544", Part: ClusterSpec, Node: gcsNode + ".storage.accessModes", Ratchet: ByServer,
		Valid: "self.all(m, m in ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'])",
		Says:  `supported values: "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"`},
	{ID: "RC-544", Part: ClusterSpec, Node: gcsNode + ".storage.accessModes", Reason: Forbidden, Ratchet: ByServer,
		Valid: "!('ReadWriteOncePod' in self) || self.all(m, m == 'ReadWriteOncePod')",
		Says:  "ReadWriteOncePod must stand alone"},
	storageName("storageClassName", "StorageClass"),

	rocksVariable("RAY_gcs_storage"),
	rocksVariable("RAY_gcs_storage_path"),
	{ID: "RC-066", Part: ClusterSpec, Field: containersField, Reason: Forbidden,
		Valid: "!" + rocksDB + " || !" + headMount("m.name == 'gcs-storage' || m.mountPath == '/data/gcs'"),
		Says:  "the operator mounts gcs-storage at /data/gcs; use gcsFaultToleranceOptions.storage"},
	{ID: "RC-067", Part: ClusterSpec, Field: ".headGroupSpec.template.spec.volumes", Reason: Forbidden,
		Valid: "!" + rocksDB + " || !" + inHeadPod("volumes", "x.name == 'gcs-storage'"),
		Says:  "the operator adds gcs-storage; use gcsFaultToleranceOptions.storage"},
}

func redisVariable(id, variable, option string) Rule {
	return Rule{ID: id, Part: ClusterSpec, Field: containersField, Reason: Forbidden,
		Valid: "!" + ftOptions + " || !" + headEnv("e.name == '"+variable+"'"),
		Says:  variable + " is set by the operator; use gcsFaultToleranceOptions." + option}
}

func rocksVariable(variable string) Rule {
	return Rule{ID: "RC-065", Part: ClusterSpec, Field: containersField, Reason: Forbidden,
		Valid: "!" + rocksDB + " || !" + headEnv("e.name == '"+variable+"'"),
		Says:  variable + " is set by the operator; use gcsFaultToleranceOptions"}
}

// ofRedis refuses an option of the backend redis next to the backend rocksdb.
func ofRedis(id, option, absent string) Rule {
	return Rule{ID: id, Part: ClusterSpec, Node: gcsNode, Field: "." + option, Reason: Forbidden,
		Valid: "!has(self.backend) || self.backend != 'rocksdb' || " + absent,
		Says:  "belongs to the backend redis; remove it"}
}

func credential(option string) Rule {
	return Rule{ID: "RC-539", Part: ClusterSpec, Node: gcsNode + "." + option, Reason: Forbidden,
		Valid: "!has(self.value) || self.value == '' || !has(self.valueFrom)",
		Says:  "give value or valueFrom, not both"}
}

func storageName(option, kind string) Rule {
	return Rule{ID: "RC-545", Part: ClusterSpec, Node: gcsNode + ".storage." + option, Ratchet: ByServer,
		Valid: "self == '' || self.matches('" + dns1123Subdomain + "')",
		Says:  "must be the name of a " + kind + ": lower-case letters, digits, dashes and dots"}
}
