package celrules

// etcdLimit is the largest object that etcd takes as it comes.
const etcdLimit = 3 << 19

// fitting is how many items a list can have, given the shortest that can be stored. A schema with such a bound refuses nothing that
// the API server could store, and gives CEL a bound for what it costs.
func fitting(shortest string) *int64 { return new(int64(etcdLimit / len(shortest))) }

// Shortest items of lists, with the comma, and with what the API server fills in. Names differ, and few have less than three letters.
const (
	shortGroup = `{"groupName":"abc","maxReplicas":0,"minReplicas":0,"numOfHosts":1,"priority":0,"replicas":0,"template":{"spec":{"containers":[{"name":"a"}]}}},`
	// Pods repeat their mounts in their status, and their ports in their managed fields.
	shortPort      = `{"containerPort":1000,"protocol":"TCP"},"k:{\"containerPort\":1000,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}},`
	shortMount     = `{"mountPath":"/abc","name":"a"},{"mountPath":"/abc","name":"a"},`
	shortException = `{"groupName":"abc"},`
	// A Pod is one object, too, and this is what it, its managed fields and its status say of a container that runs.
	shortContainer = `{"image":"a","imagePullPolicy":"Always","name":"abc","resources":{},"terminationMessagePath":"/dev/termination-log",` +
		`"terminationMessagePolicy":"File","volumeMounts":[{"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","name":"kube-api-access-abcde","readOnly":true}]},` +
		`"k:{\"name\":\"abc\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}},` +
		`{"containerID":"containerd://0123456789012345678901234567890123456789012345678901234567890123","image":"a","imageID":"a@sha256:0123456789012345678901234567890123456789012345678901234567890123",` +
		`"lastState":{},"name":"abc","ready":true,"restartCount":0,"started":true,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}},`
)

// Bounds returns the keywords that are added to the schemas. Those without an id bound the cost of CEL, and are wide enough to
// refuse nothing that could be stored, or that a cluster could run. No keyword with an id is at a node below the spec that
// managedBy or clusterSelector may leave without a meaning: it does not see them.
func Bounds() []Bound {
	return []Bound{
		{ID: "CJ-001", Part: RayCronJob, Node: "spec.schedule", MinLength: new(int64(1)), MaxLength: new(int64(1024))},

		{Part: ClusterSpec, Node: "workerGroupSpecs", MaxItems: fitting(shortGroup)},
		// Twice what a label of Pods takes.
		{Part: ClusterSpec, Node: "workerGroupSpecs[].groupName", MaxLength: new(int64(128))},
		{Part: ClusterSpec, Node: "networkPolicy.workerGroups", MaxItems: fitting(shortGroup + shortException)}, // each is about a group
		{Part: ClusterSpec, Node: "headGroupSpec.template.spec.containers", MaxItems: fitting(shortContainer)},
		{Part: ClusterSpec, Node: "headGroupSpec.template.spec.initContainers", MaxItems: fitting(shortContainer)},
		{Part: ClusterSpec, Node: "headGroupSpec.template.spec.containers[].name", MaxLength: new(int64(128))},
		{Part: ClusterSpec, Node: "headGroupSpec.template.spec.initContainers[].name", MaxLength: new(int64(128))},
		{Part: ClusterSpec, Node: "headGroupSpec.template.spec.volumes", MaxItems: new(int64(10000))},
		{Part: ClusterSpec, Node: "headGroupSpec.template.spec.containers[].env", MaxItems: new(int64(10000))},
		{Part: ClusterSpec, Node: "headGroupSpec.template.spec.containers[].ports", MaxItems: fitting(shortPort)},
		{Part: ClusterSpec, Node: "headGroupSpec.template.spec.containers[].volumeMounts", MaxItems: fitting(shortMount)},
		{Part: ClusterSpec, Node: "autoscalerOptions.env", MaxItems: new(int64(10000))},
		{Part: ClusterSpec, Node: "autoscalerOptions.volumeMounts", MaxItems: fitting(shortMount)},
		{Part: ClusterSpec, Node: "historyServerOptions.collectorOptions.env", MaxItems: new(int64(5000))},
		{Part: ClusterSpec, Node: "gcsFaultToleranceOptions.storage.accessModes", MaxItems: new(int64(1000))}, // four exist,
		// Each policy stands in the list once for each state, or the list breaks a rule: twelve are enough.
		{Part: JobSpec, Node: "deletionStrategy.deletionRules", MaxItems: new(int64(48))},
		// Names in Kubernetes.
		{Part: ClusterSpec, Node: "headGroupSpec.headService.metadata.name", MaxLength: new(int64(253))},
		{Part: RayService, Node: "spec.serveService.metadata.name", MaxLength: new(int64(253))},
		{Part: ClusterSpec, Node: "gcsFaultToleranceOptions.storage.storageClassName", MaxLength: new(int64(253))},
		{Part: ClusterSpec, Node: "gcsFaultToleranceOptions.storage.accessModes[]", MaxLength: new(int64(64))},
		{Part: ClusterSpec, Node: "rayVersion", MaxLength: new(int64(4096))},
		// PATH_MAX of Linux.
		{Part: ClusterSpec, Node: "gcsFaultToleranceOptions.storage.subPath", MaxLength: new(int64(4096))},
	}
}
