package v1_test

import (
	"maps"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// stored returns obj as the API server keeps it: pruned and defaulted.
func stored(s *structuralschema.Structural, obj map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(obj)
	pruning.Prune(out, s, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(out, s)
	defaulting.Default(out, s)
	return out
}

// violations does what the API server does with an object that is created (old is nil) or updated.
func violations(t testing.TB, plural string, obj, old map[string]any) field.ErrorList {
	t.Helper()
	c := checkerFor(t, plural)
	s := c.structural
	obj = named(stored(s, obj))
	errs := validation.ValidateCustomResource(nil, obj, c.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s, obj)...)
	var oldObj any
	if old != nil {
		oldObj = named(stored(s, old))
	}
	more, _ := c.rules.Validate(t.Context(), nil, s, obj, oldObj, celconfig.RuntimeCELCostBudget)
	return append(errs, more...)
}

// named gives a name to an object that has none; the API server asks no rule before there is one.
func named(obj map[string]any) map[string]any {
	meta, ok := obj["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		obj["metadata"] = meta
	}
	if meta["name"] == nil {
		meta["name"] = "a"
	}
	return obj
}

func TestRayClusterSchemaVerdicts(t *testing.T) {
	const (
		pod     = "template: {spec: {containers: [{name: a}]}}"
		head    = "{spec: {headGroupSpec: {" + pod + "}}}"
		redis   = "{spec: {headGroupSpec: {" + pod + "}, gcsFaultToleranceOptions: {backend: redis}}}"
		managed = "{spec: {headGroupSpec: {" + pod + "}, managedBy: kueue.x-k8s.io/multikueue}}"
	)
	headWith := func(fields string) string { return "{spec: {headGroupSpec: {" + pod + ", " + fields + "}}}" }
	container := func(fields string) string {
		return "{spec: {headGroupSpec: {template: {spec: {containers: [{name: a, " + fields + "}]}}}}}"
	}
	groups := func(g ...string) string {
		for i := range g {
			g[i] = "{" + pod + ", " + g[i] + "}"
		}
		return "{spec: {headGroupSpec: {" + pod + "}, workerGroupSpecs: [" + strings.Join(g, ", ") + "]}}"
	}
	spec := func(fields string) string { return "{spec: {headGroupSpec: {" + pod + "}, " + fields + "}}" }

	cases := map[string]struct {
		obj, old string
		want     string // part of the message; empty if the object is accepted
	}{
		"a head alone":                          {obj: head},
		"no spec at all":                        {obj: "{metadata: {name: a}}", want: "(RC-581)"},
		"no spec, as before":                    {obj: "{metadata: {labels: {a: b}}}", old: "{}"},
		"an empty template":                     {obj: "{spec: {headGroupSpec: {template: {}}}}", want: "give at least one container"},
		"null start parameters":                 {obj: headWith("rayStartParams: null")},
		"numbers as start parameters":           {obj: headWith("rayStartParams: {port: 6379}"), want: "must be of type string"},
		"booleans as start parameters":          {obj: headWith("rayStartParams: {block: true}"), want: "must be of type string"},
		"an unknown service type":               {obj: headWith("serviceType: Whatever"), want: "supported values"},
		"an unknown path type":                  {obj: headWith("ingressOptions: {pathType: Regex}"), want: "Unsupported value"},
		"a Pod spec without containers":         {obj: "{spec: {headGroupSpec: {template: {spec: {}}}}}", want: "Required value"},
		"a Pod spec with an empty list":         {obj: "{spec: {headGroupSpec: {template: {spec: {containers: []}}}}}", want: "(RC-033)"},
		"two containers of one name":            {obj: "{spec: {headGroupSpec: {template: {spec: {containers: [{name: a}, {name: a}]}}}}}", want: "Duplicate value"},
		"two mounts at one path":                {obj: container("volumeMounts: [{name: x, mountPath: /m}, {name: y, mountPath: /m}]"), want: "Duplicate value"},
		"one port for two protocols":            {obj: container("ports: [{containerPort: 1, protocol: TCP}, {containerPort: 1, protocol: UDP}]")},
		"one port twice, once by default":       {obj: container("ports: [{containerPort: 1}, {containerPort: 1, protocol: TCP}]"), want: "Duplicate value"},
		"a quantity that is a word":             {obj: container("resources: {limits: {cpu: many}}"), want: "should match"},
		"a quantity that is a float":            {obj: container("resources: {limits: {cpu: 1.5}}"), want: "must be of type"},
		"a quantity that is a float text":       {obj: container(`resources: {limits: {cpu: "1.5"}}`)},
		"a negative quantity":                   {obj: container(`resources: {limits: {cpu: "-1"}}`)},
		"replicas beyond 32 bits":               {obj: groups("groupName: g, replicas: 3000000000"), want: "int32"},
		"half a replica":                        {obj: groups("groupName: g, replicas: 1.5"), want: "integer"},
		"negative bounds":                       {obj: groups("groupName: g, minReplicas: -1"), want: "(RC-040)"},
		"no hosts, as KubeRay":                  {obj: groups("groupName: g, numOfHosts: 0")},
		"crossed bounds":                        {obj: groups("groupName: g, minReplicas: 2, maxReplicas: 1"), want: "(RC-042)"},
		"null minReplicas":                      {obj: groups("groupName: g, minReplicas: null")},
		"an empty group name, as KubeRay":       {obj: groups(`groupName: ""`)},
		"no group name":                         {obj: groups("replicas: 1"), want: "Required value"},
		"two groups":                            {obj: groups("groupName: g", "groupName: h")},
		"two groups of one name":                {obj: groups("groupName: g", "groupName: g"), want: "Duplicate value"},
		"doubled env of the autoscaler":         {obj: spec("autoscalerOptions: {env: [{name: a}, {name: a}]}")},
		"an unknown autoscaler":                 {obj: spec("autoscalerOptions: {version: v3}"), want: "Unsupported value"},
		"an empty authentication mode":          {obj: spec(`authOptions: {mode: ""}`), want: "Unsupported value"},
		"one group ruled twice":                 {obj: spec("networkPolicy: {workerGroups: [{groupName: g}, {groupName: g}]}"), want: "Duplicate value"},
		"a stranger as manager":                 {obj: spec("managedBy: me"), want: "the managedBy field value must be either 'ray.io/kuberay-operator' or 'kueue.x-k8s.io/multikueue'"},
		"the manager changes":                   {obj: spec("managedBy: ray.io/kuberay-operator"), old: managed, want: "the managedBy field is immutable"},
		"the manager stays":                     {obj: managed, old: managed},
		"the manager is added, as KubeRay":      {obj: managed, old: head},
		"the manager is removed, as KubeRay":    {obj: head, old: managed},
		"the metadata store changes":            {obj: spec("gcsFaultToleranceOptions: {backend: rocksdb}"), old: redis, want: "gcsFaultToleranceOptions.backend is immutable"},
		"the metadata store becomes named":      {obj: redis, old: head},
		"the unnamed store is named":            {obj: redis, old: spec("gcsFaultToleranceOptions: {}")},
		"the unnamed store changes, as KubeRay": {obj: spec("gcsFaultToleranceOptions: {backend: rocksdb}"), old: spec("gcsFaultToleranceOptions: {}")},
		"a name that is too long":               {obj: "{metadata: {name: " + strings.Repeat("a", 54) + "}, " + head[1:], want: "(RC-030)"},
		"a long name, as before":                {obj: "{metadata: {name: " + strings.Repeat("a", 54) + ", labels: {a: b}}, " + head[1:], old: "{metadata: {name: " + strings.Repeat("a", 54) + "}, " + head[1:]},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var old map[string]any
			if tc.old != "" {
				old = fromYAML(t, tc.old)
			}
			checkVerdict(t, violations(t, "rayclusters", fromYAML(t, tc.obj), old), tc.want)
		})
	}
}

func TestRayJobSchemaVerdicts(t *testing.T) {
	strategy := func(s string) string { return "{spec: {deletionStrategy: " + s + "}}" }
	rule := func(condition string) string {
		return strategy("{deletionRules: [{policy: DeleteCluster, condition: " + condition + "}]}")
	}
	cases := map[string]struct {
		obj  string
		want string
	}{
		"nothing":                              {obj: "{}", want: "(RJ-581)"},
		"a spec of nothing, as KubeRay":        {obj: "{spec: {entrypoint: null}}"},
		"an unknown way to submit, as KubeRay": {obj: "{spec: {submissionMode: Carrier-Pigeon}}"},
		"fractions of a CPU":                   {obj: "{spec: {entrypointNumCpus: 0.5}}"},
		"no time to start":                     {obj: "{spec: {preRunningDeadlineSeconds: 0}}", want: "greater than or equal to 1"},
		"negative retries":                     {obj: "{spec: {backoffLimit: -1}}", want: "must be at least 0"},
		"the legacy pair":                      {obj: strategy("{onSuccess: {policy: DeleteSelf}, onFailure: {policy: DeleteNone}}")},
		"half of the legacy pair":              {obj: strategy("{onSuccess: {policy: DeleteSelf}}"), want: "requires either BOTH onSuccess and onFailure"},
		"an empty strategy":                    {obj: strategy("{}"), want: "requires either BOTH onSuccess and onFailure"},
		"an unknown policy":                    {obj: strategy("{onSuccess: {policy: Burn}, onFailure: {}}"), want: "Unsupported value"},
		"no rules":                             {obj: strategy("{deletionRules: []}"), want: "at least 1"},
		"pair and rules":                       {obj: strategy("{onSuccess: {}, onFailure: {}, deletionRules: [{policy: DeleteSelf, condition: {jobStatus: FAILED}}]}"), want: "cannot be used together within the same deletionStrategy"},
		"a rule on the Ray job":                {obj: rule("{jobStatus: SUCCEEDED, ttlSeconds: 5}")},
		"a rule on both":                       {obj: rule("{jobStatus: FAILED, jobDeploymentStatus: Failed}"), want: "JobStatus and JobDeploymentStatus cannot be used together within the same deletion condition."},
		"a rule on neither":                    {obj: rule("{ttlSeconds: 5}"), want: "the deletion condition requires either the JobStatus or the JobDeploymentStatus field."},
		"a rule on a running job":              {obj: rule("{jobStatus: RUNNING}"), want: "Unsupported value"},
		"a rule before the end":                {obj: rule("{jobStatus: FAILED, ttlSeconds: -1}"), want: "greater than or equal to 0"},
		"a wrong cluster manager":              {obj: "{spec: {rayClusterSpec: {headGroupSpec: {template: {spec: {containers: [{name: a}]}}}, managedBy: me}}}", want: "the managedBy field value must be either"},
		"a cluster without a head":             {obj: "{spec: {rayClusterSpec: {}}}", want: "Required value"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := fromYAML(t, tc.obj)
			if spec, ok := obj["spec"].(map[string]any); ok {
				base := fromYAML(t, "{entrypoint: run, rayClusterSpec: {headGroupSpec: {template: {spec: {containers: [{name: a}]}}}}}")
				maps.Copy(base, spec)
				obj["spec"] = base
			}
			checkVerdict(t, violations(t, "rayjobs", obj, nil), tc.want)
		})
	}
}

func checkVerdict(t *testing.T, got field.ErrorList, want string) {
	t.Helper()
	switch {
	case want == "" && len(got) > 0:
		t.Errorf("refused: %v", got.ToAggregate())
	case want != "" && len(got) == 0:
		t.Errorf("accepted, want an error with %q", want)
	case want != "" && !strings.Contains(got.ToAggregate().Error(), want):
		t.Errorf("refused with %v, want %q", got.ToAggregate(), want)
	}
}
