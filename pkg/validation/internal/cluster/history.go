package cluster

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

const envStorageBackend = "STORAGE_BACKEND"

// collectorOwnEnv are the variables that the operator sets on the collector.
var collectorOwnEnv = allTaken(rc081, "is set by the operator; remove it",
	"POD_IP", "FQ_RAY_IP", "RAY_CLUSTER_NAME", "RAY_CLUSTER_NAMESPACE", "RAY_ROLE", "OWNER_KIND", "OWNER_NAME", "EVENTS_PORT")

var rc078 = rule.New(rule.Rule{ID: "RC-078", Field: "historyServerOptions", Condition: "set and gate RayClusterHistoryServer off (warning where that is not known)", Peer: rule.BySpec, Mixed: true, Depends: "gate RayClusterHistoryServer"})
var rc079 = rule.New(rule.Rule{ID: "RC-079", Field: "historyServerOptions.collectorOptions", Condition: "absent", Peer: rule.BySpec,
	CEL: []rule.CEL{{Node: "historyServerOptions", Field: ".collectorOptions", Reason: rule.Required, Valid: "has(self.collectorOptions)",
		Says: "describe the collector: its image, and env with STORAGE_BACKEND"}}})
var rc080 = rule.New(rule.Rule{ID: "RC-080", Field: "historyServerOptions.collectorOptions.image", Condition: "absent or empty", Peer: rule.BySpec, Remedy: "give the image of the collector",
	CEL: []rule.CEL{{Node: cel.CollectorNode, Field: ".image", Reason: rule.Required, Valid: "has(self.image) && self.image != ''"}}})
var rc081 = rule.New(rule.Rule{ID: "RC-081", Field: "historyServerOptions.collectorOptions.env[j].name", Condition: "one of POD_IP, FQ_RAY_IP, RAY_CLUSTER_NAME, RAY_CLUSTER_NAMESPACE, RAY_ROLE, OWNER_KIND, OWNER_NAME, EVENTS_PORT", Peer: rule.BySpec,
	CEL: []rule.CEL{{Node: cel.CollectorNode + ".env", Reason: rule.Forbidden, OwnWords: true, Ratchet: rule.ByServer, Valid: "self.all(e, !(e.name in " + cel.CollectorOwn + "))",
		Says: "POD_IP, FQ_RAY_IP, RAY_CLUSTER_NAME, RAY_CLUSTER_NAMESPACE, RAY_ROLE, OWNER_KIND, OWNER_NAME and EVENTS_PORT are set by the operator; remove them"}}})

func checkHistoryServer(out *rule.Report, c *Spec, path *field.Path) {
	o := c.Spec.HistoryServerOptions
	if o == nil {
		return
	}
	path = path.Child("historyServerOptions")
	out.Without(rule.GateHistoryServer, c.Options).Forbidden(rc078, path, rule.GateHistoryServer.Missing())
	collector, path := o.CollectorOptions, path.Child("collectorOptions")
	if collector == nil {
		out.Required(rc079, path, "describe the collector: its image, and env with "+envStorageBackend)
		return
	}
	out.When(collector.Image == nil || *collector.Image == "").Required(rc080, path.Child("image"))
	forbidVariables(out, collector.Env, path.Child("env"), collectorOwnEnv)
	checkCollectorStorage(out, collector.Env, path.Child("env"))
}

var rc082 = rule.New(rule.Rule{ID: "RC-082", Field: "historyServerOptions.collectorOptions.env", Condition: "no STORAGE_BACKEND with non-empty literal value", Peer: rule.BySpec,
	CEL: []rule.CEL{{Node: cel.CollectorNode, Field: ".env", Reason: rule.Required, Valid: "has(self.env) && self.env.exists(e, e.name == 'STORAGE_BACKEND' && has(e.value) && e.value != '')",
		Says: "STORAGE_BACKEND must be among them, as a literal value, as in S3, GCS, AZUREBLOB or ALIYUNOSS"}}})

// storage is a rule on a storage: the variables that it needs, in these modes of authentication. No modes means all modes.
type storage struct {
	by               *rule.Rule
	backend          string
	modes, variables []string
}

func storageNeeds(id, backend string, modes []string, condition string, variables ...string) storage {
	r := rule.Rule{ID: id, Field: "historyServerOptions.collectorOptions.env", Condition: "backend " + backend + condition, Peer: rule.BySpec}
	for _, v := range variables {
		r.CEL = append(r.CEL, cel.StorageNeeds(backend, modes, v))
	}
	return storage{rule.New(r), backend, modes, variables}
}

// is reports whether the collector uses this storage, and, where that counts, logs in to it in this mode.
func (s storage) is(backend, mode string) bool {
	return s.backend == strings.ToUpper(backend) && (len(s.modes) == 0 || slices.Contains(s.modes, mode))
}

// storages are the storages that collectors support. Others are accepted, because a collector may have been built with its own.
var storages = []storage{
	storageNeeds("RC-083", "GCS", nil, " and GCS_BUCKET has neither value nor valueFrom", "GCS_BUCKET"),
	storageNeeds("RC-084", "S3", nil, " and S3_REGION missing (bucket not required)", "S3_REGION"),
	storageNeeds("RC-085", "AZUREBLOB", []string{"connection_string"}, ", auth mode (trimmed, lower-cased) connection_string, AZURE_STORAGE_CONNECTION_STRING missing", cel.Connection),
	storageNeeds("RC-086", "AZUREBLOB", []string{"workload_identity", "default"}, ", auth mode workload_identity or default, AZURE_STORAGE_ACCOUNT_URL missing", cel.AccountURL),
	storageNeeds("RC-088", "ALIYUNOSS", nil, " and any of OSS_BUCKET, OSS_ENDPOINT, OSS_REGION missing", "OSS_BUCKET", "OSS_ENDPOINT", "OSS_REGION"),
}

var rc087 = rule.New(rule.Rule{ID: "RC-087", Field: "historyServerOptions.collectorOptions.env", Condition: "backend AZUREBLOB, any other or no auth mode, and both the connection string and the account URL missing", Peer: rule.BySpec,
	CEL: []rule.CEL{{Node: cel.CollectorNode + ".env", Reason: rule.Required, OwnWords: true, Ratchet: rule.ByServer, Valid: cel.NotOn("AZUREBLOB") + " || " + cel.AnyAuthMode +
		" || " + cel.Given(cel.Connection) + " || " + cel.Given(cel.AccountURL),
		Says: cel.Connection + " or " + cel.AccountURL + " must be among them for the storage AZUREBLOB"}}})

// checkCollectorStorage checks the variables that the storage needs.
func checkCollectorStorage(out *rule.Report, env []corev1.EnvVar, path *field.Path) {
	// Of entries with one name the last counts, as in a container.
	last := make(map[string]corev1.EnvVar, len(env))
	for _, e := range env {
		last[e.Name] = e
	}
	given := func(name string) bool {
		e := last[name]
		return e.Value != "" || e.ValueFrom != nil
	}
	backend := last[envStorageBackend].Value
	if backend == "" {
		out.Required(rc082, path, envStorageBackend+" must be among them, as a literal value, as in S3, GCS, AZUREBLOB or ALIYUNOSS")
		return
	}
	mode := strings.ToLower(strings.TrimSpace(last["AZURE_STORAGE_AUTH_MODE"].Value))
	anyAccess := !slices.Contains([]string{"connection_string", "workload_identity", "default"}, mode)
	out.When(strings.EqualFold(backend, "AZUREBLOB") && anyAccess && !given(cel.Connection) && !given(cel.AccountURL)).Required(rc087, path,
		fmt.Sprintf("%s or %s must be among them for the storage %s", cel.Connection, cel.AccountURL, backend))
	for _, s := range storages {
		if !s.is(backend, mode) {
			continue
		}
		for _, name := range s.variables {
			out.When(!given(name)).Required(s.by, path, fmt.Sprintf("%s must be among them for the storage %s", name, backend))
		}
	}
}
