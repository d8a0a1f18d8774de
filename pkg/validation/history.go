package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	envStorageBackend = "STORAGE_BACKEND"
	envAzureAuthMode  = "AZURE_STORAGE_AUTH_MODE"
	envAzureConn      = "AZURE_STORAGE_CONNECTION_STRING"
	envAzureURL       = "AZURE_STORAGE_ACCOUNT_URL"
)

// collectorOwnEnv are the variables that the operator sets on the collector.
var collectorOwnEnv = paramSet("POD_IP", "FQ_RAY_IP", "RAY_CLUSTER_NAME", "RAY_CLUSTER_NAMESPACE", "RAY_ROLE", "OWNER_KIND", "OWNER_NAME", "EVENTS_PORT")

func validateHistoryServer(c *cluster, path *field.Path) field.ErrorList {
	o := c.spec.HistoryServerOptions
	if o == nil {
		return nil
	}
	path = path.Child("historyServerOptions")
	var errs field.ErrorList
	errs = append(errs, c.options.needs(GateHistoryServer, forbidden("RC-078", path, GateHistoryServer.missing()))...)
	collector, path := o.CollectorOptions, path.Child("collectorOptions")
	if collector == nil {
		return append(errs, required("RC-079", path, "describe the collector: its image, and env with "+envStorageBackend))
	}
	if collector.Image == nil || *collector.Image == "" {
		errs = append(errs, required("RC-080", path.Child("image"), "give the image of the collector"))
	}
	envPath := path.Child("env")
	for i := range collector.Env {
		if name := collector.Env[i].Name; collectorOwnEnv[name] {
			errs = append(errs, forbidden("RC-081", envPath.Index(i).Child("name"), name+" is set by the operator; remove it"))
		}
	}
	return append(errs, validateCollectorStorage(collector.Env, envPath)...)
}

// validateCollectorStorage knows what each storage needs. Other storages than these are let through: a collector may
// have been built with its own.
func validateCollectorStorage(env []corev1.EnvVar, path *field.Path) field.ErrorList {
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
		return field.ErrorList{required("RC-082", path, envStorageBackend+" must be among them, as a literal value, as in S3, GCS, AZUREBLOB or ALIYUNOSS")}
	}
	need := func(id string, names ...string) field.ErrorList {
		var errs field.ErrorList
		for _, name := range names {
			if !given(name) {
				errs = append(errs, required(id, path, fmt.Sprintf("%s must be among them for the storage %s", name, backend)))
			}
		}
		return errs
	}
	switch strings.ToUpper(backend) {
	case "GCS":
		return need("RC-083", "GCS_BUCKET")
	case "S3":
		return need("RC-084", "S3_REGION")
	case "ALIYUNOSS":
		return need("RC-088", "OSS_BUCKET", "OSS_ENDPOINT", "OSS_REGION")
	case "AZUREBLOB":
		switch strings.ToLower(strings.TrimSpace(last[envAzureAuthMode].Value)) {
		case "connection_string":
			return need("RC-085", envAzureConn)
		case "workload_identity", "default":
			return need("RC-086", envAzureURL)
		}
		if !given(envAzureConn) && !given(envAzureURL) {
			return field.ErrorList{required("RC-087", path, fmt.Sprintf("%s or %s must be among them for the storage %s", envAzureConn, envAzureURL, backend))}
		}
	}
	return nil
}
