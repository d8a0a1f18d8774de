package cel

import (
	"cmp"
	"strings"

	"github.com/raygate/raygate/pkg/validation/rule"
)

// Names in the options of the history server.
const (
	CollectorNode = "historyServerOptions.collectorOptions"
	CollectorOwn  = "['POD_IP', 'FQ_RAY_IP', 'RAY_CLUSTER_NAME', 'RAY_CLUSTER_NAMESPACE', 'RAY_ROLE', 'OWNER_KIND', 'OWNER_NAME', 'EVENTS_PORT']"
	Connection    = "AZURE_STORAGE_CONNECTION_STRING"
	AccountURL    = "AZURE_STORAGE_ACCOUNT_URL"
)

// NotOn is true unless the storage is the one Given, in one of the ways in which people write it: CEL compares texts of any length with short
// ones for nothing, and cannot afford to lower their case. Of repeated variables the last counts, which CEL cannot afford to find out either.
// What it does not see is left to the Go package.
func NotOn(backend string) string {
	written := map[string]string{"AZUREBLOB": "AzureBlob", "ALIYUNOSS": "AliyunOSS"}[backend]
	return "!self.exists(e, e.name == 'STORAGE_BACKEND') || self.exists(e, e.name == 'STORAGE_BACKEND' && (!has(e.value) || " +
		"!(e.value in ['" + backend + "', '" + strings.ToLower(backend) + "', '" + cmp.Or(written, backend) + "'])))"
}

// Given is true of a list with the variable, with a value or where that comes from.
func Given(variable string) string {
	return "self.exists(e, e.name == '" + variable + "' && ((has(e.value) && e.value != '') || has(e.valueFrom)))"
}

// AuthMode is true of an authentication mode as it is usually written.
func AuthMode(modes ...string) string {
	return "self.exists(e, e.name == 'AZURE_STORAGE_AUTH_MODE' && has(e.value) && e.value in ['" + strings.Join(modes, "', '") + "'])"
}

// AnyAuthMode is true if there is a text for the mode.
const AnyAuthMode = "self.exists(e, e.name == 'AZURE_STORAGE_AUTH_MODE' && has(e.value) && e.value != '')"

// StorageNeeds demands a variable for a storage, under a condition or always. The Go rule names the storage as the user
// wrote it.
func StorageNeeds(backend, when, variable string) rule.CEL {
	valid := NotOn(backend) + " || " + Given(variable)
	if when != "" {
		valid = NotOn(backend) + " || !" + when + " || " + Given(variable)
	}
	return rule.CEL{Node: CollectorNode + ".env", Reason: rule.Required, OwnWords: true, Ratchet: rule.ByServer,
		Valid: valid,
		Says:  variable + " must be among them for the storage " + backend}
}
