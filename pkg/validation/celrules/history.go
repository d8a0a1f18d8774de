package celrules

import (
	"cmp"
	"strings"
)

const (
	collectorNode = "historyServerOptions.collectorOptions"
	collectorOwn  = "['POD_IP', 'FQ_RAY_IP', 'RAY_CLUSTER_NAME', 'RAY_CLUSTER_NAMESPACE', 'RAY_ROLE', 'OWNER_KIND', 'OWNER_NAME', 'EVENTS_PORT']"
	connection    = "AZURE_STORAGE_CONNECTION_STRING"
	accountURL    = "AZURE_STORAGE_ACCOUNT_URL"
)

var historyRules = []Rule{
	{ID: "RC-079", Part: ClusterSpec, Node: "historyServerOptions", Field: ".collectorOptions", Reason: Required,
		Valid: "has(self.collectorOptions)",
		Says:  "describe the collector: its image, and env with STORAGE_BACKEND"},
	{ID: "RC-080", Part: ClusterSpec, Node: collectorNode, Field: ".image", Reason: Required,
		Valid: "has(self.image) && self.image != ''",
		Says:  "give the image of the collector"},
	{ID: "RC-081", Part: ClusterSpec, Node: collectorNode + ".env", Reason: Forbidden, OwnWords: true, Ratchet: ByServer,
		Valid: "self.all(e, !(e.name in " + collectorOwn + "))",
		Says:  "POD_IP, FQ_RAY_IP, RAY_CLUSTER_NAME, RAY_CLUSTER_NAMESPACE, RAY_ROLE, OWNER_KIND, OWNER_NAME and EVENTS_PORT are set by the operator; remove them"},
	{ID: "RC-082", Part: ClusterSpec, Node: collectorNode, Field: ".env", Reason: Required,
		Valid: "has(self.env) && self.env.exists(e, e.name == 'STORAGE_BACKEND' && has(e.value) && e.value != '')",
		Says:  "STORAGE_BACKEND must be among them, as a literal value, as in S3, GCS, AZUREBLOB or ALIYUNOSS"},
	storageNeeds("RC-083", "GCS", "", "GCS_BUCKET"),
	storageNeeds("RC-084", "S3", "", "S3_REGION"),
	storageNeeds("RC-085", "AZUREBLOB", authMode("connection_string"), connection),
	storageNeeds("RC-086", "AZUREBLOB", authMode("workload_identity", "default"), accountURL),
	{ID: "RC-087", Part: ClusterSpec, Node: collectorNode + ".env", Reason: Required, OwnWords: true, Ratchet: ByServer,
		Valid: notOn("AZUREBLOB") + " || " + anyAuthMode +
			" || " + given(connection) + " || " + given(accountURL),
		Says: connection + " or " + accountURL + " must be among them for the storage AZUREBLOB"},
	storageNeeds("RC-088", "ALIYUNOSS", "", "OSS_BUCKET"),
	storageNeeds("RC-088", "ALIYUNOSS", "", "OSS_ENDPOINT"),
	storageNeeds("RC-088", "ALIYUNOSS", "", "OSS_REGION"),
	{ID: "RC-089", Part: ClusterSpec, Field: containersField,
		Valid: "!has(self.historyServerOptions) || !" + inHeadPod("containers", "x.name == 'ray-history-collector'"),
		Says:  "the operator adds a container of this name with historyServerOptions; use another name"},
}

// notOn is true unless the storage is the one given, in one of the ways in which people write it: CEL compares texts of any length with short
// ones for nothing, and cannot afford to lower their case. Of repeated variables the last counts, which CEL cannot afford to find out either.
// What it does not see is left to the Go package.
func notOn(backend string) string {
	written := map[string]string{"AZUREBLOB": "AzureBlob", "ALIYUNOSS": "AliyunOSS"}[backend]
	return "!self.exists(e, e.name == 'STORAGE_BACKEND') || self.exists(e, e.name == 'STORAGE_BACKEND' && (!has(e.value) || " +
		"!(e.value in ['" + backend + "', '" + strings.ToLower(backend) + "', '" + cmp.Or(written, backend) + "'])))"
}

func given(variable string) string {
	return "self.exists(e, e.name == '" + variable + "' && ((has(e.value) && e.value != '') || has(e.valueFrom)))"
}

// authMode is true of an authentication mode as it is usually written.
func authMode(modes ...string) string {
	return "self.exists(e, e.name == 'AZURE_STORAGE_AUTH_MODE' && has(e.value) && e.value in ['" + strings.Join(modes, "', '") + "'])"
}

// anyAuthMode is true if there is a text for the mode.
const anyAuthMode = "self.exists(e, e.name == 'AZURE_STORAGE_AUTH_MODE' && has(e.value) && e.value != '')"

// storageNeeds demands a variable for a storage, under a condition or always. The Go rule names the storage as the user
// wrote it.
func storageNeeds(id, backend, when, variable string) Rule {
	valid := notOn(backend) + " || " + given(variable)
	if when != "" {
		valid = notOn(backend) + " || !" + when + " || " + given(variable)
	}
	return Rule{ID: id, Part: ClusterSpec, Node: collectorNode + ".env", Reason: Required, OwnWords: true, Ratchet: ByServer,
		Valid: valid,
		Says:  variable + " must be among them for the storage " + backend}
}
