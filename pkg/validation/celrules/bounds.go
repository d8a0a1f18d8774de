package celrules

// labelOrNone is the form of the value of a label, which may be empty.
const labelOrNone = `^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`

const (
	containerName = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
	portName      = "^(([0-9]+-)*[0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*)?$"
	portProtocol  = "^(TCP|UDP|SCTP)?$"
)

// namedInPods are the lists of Pod templates whose items need names. That a name is there the schema says already.
var namedInPods = []string{"containers[]", "initContainers[]", "containers[].env[]", "initContainers[].env[]"}

// Bounds returns the keywords that are added to the schemas. Those without an id bound the cost of CEL, and are wide
// enough to refuse nothing that a cluster could run.
func Bounds() []Bound {
	bounds := []Bound{
		{ID: "RC-040", Part: ClusterSpec, Node: "workerGroupSpecs[].minReplicas", Minimum: new(int64(0))},
		{ID: "RC-041", Part: ClusterSpec, Node: "workerGroupSpecs[].maxReplicas", Minimum: new(int64(0))},
		{ID: "RC-047", Part: ClusterSpec, Node: "workerGroupSpecs[].idleTimeoutSeconds", Minimum: new(int64(0))},

		{ID: "CJ-001", Part: RayCronJob, Node: "spec.schedule", MinLength: new(int64(1)), MaxLength: new(int64(1024))},
		// Four policies for three states: no list without repeats is longer.
		{ID: "RJ-041", Part: JobSpec, Node: "deletionStrategy.deletionRules", MaxItems: new(int64(12))},

		// A label of Pods.
		{ID: "RC-502", Part: ClusterSpec, Node: "workerGroupSpecs[].groupName", MaxLength: new(int64(63))},
		{ID: "RC-037", Part: ClusterSpec, Node: "headGroupSpec.labels{}", MaxLength: new(int64(63)), Pattern: labelOrNone},
		{ID: "RC-046", Part: ClusterSpec, Node: "workerGroupSpecs[].labels{}", MaxLength: new(int64(63)), Pattern: labelOrNone},
		{ID: "RC-545", Part: ClusterSpec, Node: "gcsFaultToleranceOptions.storage.storageClassName", MaxLength: new(int64(253))},
		// Four modes exist, which nobody repeats as often.
		{Part: ClusterSpec, Node: "gcsFaultToleranceOptions.storage.accessModes", MaxItems: new(int64(64))},

		// etcd does not take an object with so many groups. KubeRay 1.7 has no bound.
		{Part: ClusterSpec, Node: "workerGroupSpecs", MaxItems: new(int64(1000))},
		{Part: ClusterSpec, Node: "networkPolicy.workerGroups", MaxItems: new(int64(100))},
		{ID: "RC-014", Part: ClusterSpec, Node: "networkPolicy.workerGroups[].groupName", MinLength: new(int64(1)), MaxLength: new(int64(63))},
		// A Pod with longer lists would not start; the rules on the head look at all of these.
		{Part: ClusterSpec, Node: "headGroupSpec.template.spec.containers", MaxItems: new(int64(100))},
		{Part: ClusterSpec, Node: "headGroupSpec.template.spec.initContainers", MaxItems: new(int64(100))},
		{Part: ClusterSpec, Node: "workerGroupSpecs[].template.spec.containers", MaxItems: new(int64(100))},
		{Part: ClusterSpec, Node: "headGroupSpec.template.spec.volumes", MaxItems: new(int64(2000))},
		{Part: ClusterSpec, Node: "headGroupSpec.template.spec.containers[].env", MaxItems: new(int64(5000))},
		{Part: ClusterSpec, Node: "headGroupSpec.template.spec.containers[].ports", MaxItems: new(int64(2000))},
		{Part: ClusterSpec, Node: "headGroupSpec.template.spec.containers[].volumeMounts", MaxItems: new(int64(2000))},
		{Part: ClusterSpec, Node: "autoscalerOptions.env", MaxItems: new(int64(5000))},
		{Part: ClusterSpec, Node: "autoscalerOptions.volumeMounts", MaxItems: new(int64(2000))},
		// Names in Kubernetes.
		{Part: ClusterSpec, Node: "headGroupSpec.headService.metadata.name", MaxLength: new(int64(253))},
		{Part: RayService, Node: "spec.serveService.metadata.name", MaxLength: new(int64(253))},
		{Part: ClusterSpec, Node: "gcsFaultToleranceOptions.storage.accessModes[]", MaxLength: new(int64(64))},
		{Part: ClusterSpec, Node: "rayVersion", MaxLength: new(int64(4096))},
		{Part: ClusterSpec, Node: "headGroupSpec.labels", MaxProperties: new(int64(128))},
		{Part: ClusterSpec, Node: "workerGroupSpecs[].labels", MaxProperties: new(int64(128))},
		// PATH_MAX of Linux.
		{Part: ClusterSpec, Node: "gcsFaultToleranceOptions.storage.subPath", MaxLength: new(int64(4096))},
		{Part: ClusterSpec, Node: "historyServerOptions.collectorOptions.env", MaxItems: new(int64(5000))},
	}
	for _, template := range []string{"headGroupSpec.template.", "workerGroupSpecs[].template."} {
		for _, list := range namedInPods {
			bounds = append(bounds, Bound{ID: "RC-016", Part: ClusterSpec, Node: template + "spec." + list + ".name", MinLength: new(int64(1))})
		}
		bounds = append(bounds, Bound{ID: "RC-530", Part: ClusterSpec, Node: template + "metadata.labels{}", Partly: true, MaxLength: new(int64(63)), Pattern: labelOrNone})
		for _, list := range []string{"spec.containers[]", "spec.initContainers[]"} {
			ports := template + list + ".ports[]."
			bounds = append(bounds,
				Bound{ID: "RC-540", Part: ClusterSpec, Node: template + list + ".name", Partly: true, MaxLength: new(int64(63)), Pattern: containerName},
				Bound{ID: "RC-541", Part: ClusterSpec, Node: ports + "containerPort", Minimum: new(int64(1)), Maximum: new(int64(65535))},
				Bound{ID: "RC-541", Part: ClusterSpec, Node: ports + "name", Partly: true, MaxLength: new(int64(15)), Pattern: portName},
				Bound{ID: "RC-541", Part: ClusterSpec, Node: ports + "protocol", Pattern: portProtocol})
		}
	}
	return bounds
}
