package cluster

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

const (
	envStorageBackend = "STORAGE_BACKEND"
	envAzureAuthMode  = "AZURE_STORAGE_AUTH_MODE"
	envAzureConn      = "AZURE_STORAGE_CONNECTION_STRING"
	envAzureURL       = "AZURE_STORAGE_ACCOUNT_URL"
)

// collectorOwnEnv are the variables that the operator sets on the collector.
var collectorOwnEnv = sets.New("POD_IP", "FQ_RAY_IP", "RAY_CLUSTER_NAME", "RAY_CLUSTER_NAMESPACE", "RAY_ROLE", "OWNER_KIND", "OWNER_NAME", "EVENTS_PORT")

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
	if collector.Image == nil || *collector.Image == "" {
		out.Required(rc080, path.Child("image"))
	}
	envPath := path.Child("env")
	for i := range collector.Env {
		if name := collector.Env[i].Name; collectorOwnEnv.Has(name) {
			out.Forbidden(rc081, envPath.Index(i).Child("name"), name+" is set by the operator; remove it")
		}
	}
	checkCollectorStorage(out, collector.Env, envPath)
}

var rc082 = rule.New(rule.Rule{ID: "RC-082", Field: "historyServerOptions.collectorOptions.env", Condition: "no STORAGE_BACKEND with non-empty literal value", Peer: rule.BySpec,
	CEL: []rule.CEL{{Node: cel.CollectorNode, Field: ".env", Reason: rule.Required, Valid: "has(self.env) && self.env.exists(e, e.name == 'STORAGE_BACKEND' && has(e.value) && e.value != '')",
		Says: "STORAGE_BACKEND must be among them, as a literal value, as in S3, GCS, AZUREBLOB or ALIYUNOSS"}}})
var rc083 = rule.New(rule.Rule{ID: "RC-083", Field: "historyServerOptions.collectorOptions.env", Condition: "backend (upper-cased) GCS and GCS_BUCKET has neither value nor valueFrom", Peer: rule.BySpec,
	CEL: []rule.CEL{cel.StorageNeeds("GCS", "", "GCS_BUCKET")}})
var rc084 = rule.New(rule.Rule{ID: "RC-084", Field: "historyServerOptions.collectorOptions.env", Condition: "backend S3 and S3_REGION missing (bucket not required)", Peer: rule.BySpec,
	CEL: []rule.CEL{cel.StorageNeeds("S3", "", "S3_REGION")}})
var rc085 = rule.New(rule.Rule{ID: "RC-085", Field: "historyServerOptions.collectorOptions.env", Condition: "backend AZUREBLOB, auth mode (trimmed, lower-cased) connection_string, AZURE_STORAGE_CONNECTION_STRING missing", Peer: rule.BySpec,
	CEL: []rule.CEL{cel.StorageNeeds("AZUREBLOB", cel.AuthMode("connection_string"), cel.Connection)}})
var rc086 = rule.New(rule.Rule{ID: "RC-086", Field: "historyServerOptions.collectorOptions.env", Condition: "backend AZUREBLOB, auth mode workload_identity or default, AZURE_STORAGE_ACCOUNT_URL missing", Peer: rule.BySpec,
	CEL: []rule.CEL{cel.StorageNeeds("AZUREBLOB", cel.AuthMode("workload_identity", "default"), cel.AccountURL)}})
var rc087 = rule.New(rule.Rule{ID: "RC-087", Field: "historyServerOptions.collectorOptions.env", Condition: "backend AZUREBLOB, any other or no auth mode, and both the connection string and the account URL missing", Peer: rule.BySpec,
	CEL: []rule.CEL{{Node: cel.CollectorNode + ".env", Reason: rule.Required, OwnWords: true, Ratchet: rule.ByServer, Valid: cel.NotOn("AZUREBLOB") + " || " + cel.AnyAuthMode +
		" || " + cel.Given(cel.Connection) + " || " + cel.Given(cel.AccountURL),
		Says: cel.Connection + " or " + cel.AccountURL + " must be among them for the storage AZUREBLOB"}}})
var rc088 = rule.New(rule.Rule{ID: "RC-088", Field: "historyServerOptions.collectorOptions.env", Condition: "backend ALIYUNOSS and any of OSS_BUCKET, OSS_ENDPOINT, OSS_REGION missing", Peer: rule.BySpec,
	CEL: []rule.CEL{
		cel.StorageNeeds("ALIYUNOSS", "", "OSS_BUCKET"),
		cel.StorageNeeds("ALIYUNOSS", "", "OSS_ENDPOINT"),
		cel.StorageNeeds("ALIYUNOSS", "", "OSS_REGION"),
	}})

// checkCollectorStorage knows what each storage needs. Other storages than these are let through: a collector may
// have been built with its own.
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
	need := func(by *rule.Rule, names ...string) {
		for _, name := range names {
			if !given(name) {
				out.Required(by, path, fmt.Sprintf("%s must be among them for the storage %s", name, backend))
			}
		}
	}
	switch strings.ToUpper(backend) {
	case "GCS":
		need(rc083, "GCS_BUCKET")
	case "S3":
		need(rc084, "S3_REGION")
	case "ALIYUNOSS":
		need(rc088, "OSS_BUCKET", "OSS_ENDPOINT", "OSS_REGION")
	case "AZUREBLOB":
		switch strings.ToLower(strings.TrimSpace(last[envAzureAuthMode].Value)) {
		case "connection_string":
			need(rc085, envAzureConn)
		case "workload_identity", "default":
			need(rc086, envAzureURL)
		default:
			if !given(envAzureConn) && !given(envAzureURL) {
				out.Required(rc087, path, fmt.Sprintf("%s or %s must be among them for the storage %s", envAzureConn, envAzureURL, backend))
			}
		}
	}
}
