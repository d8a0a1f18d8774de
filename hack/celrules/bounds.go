package celrules

import (
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// etcdLimit is the default limit for an object in etcd.
const etcdLimit = 3 << 19

// fitting is the number of items that a list can have, given the shortest storable item. A schema with such a bound refuses nothing that
// the API server could store, and bounds the estimated cost of CEL.
func fitting(shortest string) *int64 { return new(int64(etcdLimit / len(shortest))) }

// Shortest items of lists, including the comma and the defaults of the API server. Names differ, and few have less than three letters.
const (
	shortGroup = `{"groupName":"abc","maxReplicas":0,"minReplicas":0,"numOfHosts":1,"priority":0,"replicas":0,"template":{"spec":{"containers":[{"name":"a"}]}}},`
	// Pods repeat their mounts in their status, and their ports in their managed fields.
	shortPort      = `{"containerPort":1000,"protocol":"TCP"},"k:{\"containerPort\":1000,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}},`
	shortMount     = `{"mountPath":"/abc","name":"a"},{"mountPath":"/abc","name":"a"},`
	shortException = `{"groupName":"abc"},`
	// A Pod must fit into one object, too. This is what its spec, managed fields and status contain for a running container.
	shortContainer = `{"image":"a","imagePullPolicy":"Always","name":"abc","resources":{},"terminationMessagePath":"/dev/termination-log",` +
		`"terminationMessagePolicy":"File","volumeMounts":[{"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","name":"kube-api-access-abcde","readOnly":true}]},` +
		`"k:{\"name\":\"abc\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}},` +
		`{"containerID":"containerd://0123456789012345678901234567890123456789012345678901234567890123","image":"a","imageID":"a@sha256:0123456789012345678901234567890123456789012345678901234567890123",` +
		`"lastState":{},"name":"abc","ready":true,"restartCount":0,"started":true,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}},`
)

// costBounds limit the estimated cost of CEL. They refuse nothing that could be stored, or that a cluster could run.
func costBounds() []rule.Keyword {
	return []rule.Keyword{
		{Part: rule.ClusterSpec, Node: "workerGroupSpecs", MaxItems: fitting(shortGroup)},
		// Twice the length of a label value.
		{Part: rule.ClusterSpec, Node: "workerGroupSpecs[].groupName", MaxLength: new(int64(128))},
		{Part: rule.ClusterSpec, Node: "networkPolicy.workerGroups", MaxItems: fitting(shortGroup + shortException)}, // each is about a group
		{Part: rule.ClusterSpec, Node: "headGroupSpec.template.spec.containers", MaxItems: fitting(shortContainer)},
		{Part: rule.ClusterSpec, Node: "headGroupSpec.template.spec.initContainers", MaxItems: fitting(shortContainer)},
		{Part: rule.ClusterSpec, Node: "headGroupSpec.template.spec.containers[].name", MaxLength: new(int64(128))},
		{Part: rule.ClusterSpec, Node: "headGroupSpec.template.spec.initContainers[].name", MaxLength: new(int64(128))},
		{Part: rule.ClusterSpec, Node: "headGroupSpec.template.spec.volumes", MaxItems: new(int64(10000))},
		{Part: rule.ClusterSpec, Node: "headGroupSpec.template.spec.containers[].env", MaxItems: new(int64(10000))},
		{Part: rule.ClusterSpec, Node: "headGroupSpec.template.spec.containers[].ports", MaxItems: fitting(shortPort)},
		{Part: rule.ClusterSpec, Node: "headGroupSpec.template.spec.containers[].volumeMounts", MaxItems: fitting(shortMount)},
		{Part: rule.ClusterSpec, Node: "autoscalerOptions.env", MaxItems: new(int64(10000))},
		{Part: rule.ClusterSpec, Node: "autoscalerOptions.volumeMounts", MaxItems: fitting(shortMount)},
		{Part: rule.ClusterSpec, Node: "historyServerOptions.collectorOptions.env", MaxItems: new(int64(5000))},
		{Part: rule.ClusterSpec, Node: "gcsFaultToleranceOptions.storage.accessModes", MaxItems: new(int64(1000))}, // four modes exist
		// A valid list has each policy once per state: twelve are enough.
		{Part: rule.JobSpec, Node: "deletionStrategy.deletionRules", MaxItems: new(int64(48))},
		// Names in Kubernetes.
		{Part: rule.ClusterSpec, Node: "headGroupSpec.headService.metadata.name", MaxLength: new(int64(253))},
		{Part: rule.RayService, Node: "spec.serveService.metadata.name", MaxLength: new(int64(253))},
		{Part: rule.ClusterSpec, Node: "gcsFaultToleranceOptions.storage.storageClassName", MaxLength: new(int64(253))},
		{Part: rule.ClusterSpec, Node: "gcsFaultToleranceOptions.storage.accessModes[]", MaxLength: new(int64(64))},
		{Part: rule.ClusterSpec, Node: "rayVersion", MaxLength: new(int64(4096))},
		// PATH_MAX of Linux.
		{Part: rule.ClusterSpec, Node: "gcsFaultToleranceOptions.storage.subPath", MaxLength: new(int64(4096))},
	}
}

// Bound is a keyword of the schema.
type Bound struct {
	rule.Keyword
	// ID is the rule that the keyword enforces; empty if it only bounds the cost of CEL.
	ID string
}

// Keywords returns the bound in the form of a schema.
func (b Bound) Keywords() map[string]any {
	keywords := map[string]any{}
	for name, value := range map[string]*int64{"maxItems": b.MaxItems, "minLength": b.MinLength, "maxLength": b.MaxLength} {
		if value != nil {
			keywords[name] = *value
		}
	}
	return keywords
}

// Bounds returns the keywords that are added to the schemas. None of a rule is at a node below the spec that managedBy or clusterSelector may
// leave without a meaning: it does not see them.
func Bounds() []Bound {
	var all []Bound
	for _, r := range validation.Rules() {
		if k := r.Keyword; k != nil {
			b := Bound{Keyword: *k, ID: r.ID}
			if b.Part == "" {
				b.Part = rule.Part(r.Kind)
			}
			all = append(all, b)
		}
	}
	for _, k := range costBounds() {
		all = append(all, Bound{Keyword: k})
	}
	return all
}

// BoundsOf returns the bounds of a kind.
func BoundsOf(plural string) []Placed[Bound] {
	var out []Placed[Bound]
	for _, b := range Bounds() {
		if place, ok := places[b.Part][plural]; ok {
			out = append(out, Placed[Bound]{Node: join(place, b.Node), Item: b})
		}
	}
	return out
}

// Native reports whether the types in api declare the rule themselves. It is as in KubeRay 1.7 then, and has its words.
func Native(id string) bool { return rule.ByID(id).Marker != "" }

// InPolicy reports whether a policy has the rule.
func InPolicy(id string) bool { return len(rule.ByID(id).Policies) > 0 }

// LayersOf returns where the API server enforces the rule by the CRD. Empty if nowhere.
func LayersOf(id string) []rule.APILayer {
	var layers []rule.APILayer
	r := rule.ByID(id)
	if r.Keyword != nil || r.Marker == rule.InSchema {
		layers = append(layers, rule.InSchema)
	}
	if len(r.CEL) > 0 || r.Marker == rule.InCEL {
		layers = append(layers, rule.InCEL)
	}
	return layers
}
