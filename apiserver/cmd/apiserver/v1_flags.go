package main

import (
	"strings"

	"github.com/spf13/pflag"
)

// kuberayFlags maps flags of KubeRay's API server to equivalent flags. Its flags also work with one dash.
var kuberayFlags = map[string]string{
	"rpcPortFlag": "grpc-address", "httpPortFlag": "http-address", "cors-allow-origin": "cors-allowed-origins", "enable-api-server-v2": "enable-kubernetes-paths",
	"grpc_timeout": "call-timeout",
}

// withoutEffect are flags of KubeRay's API server that are accepted without an effect, so that its command lines work, and the messages
// about them.
var withoutEffect = map[string]string{
	"collectMetricsFlag": "metrics are always collected", "logFilePath": "the log goes to the standard error output", "localSwaggerPath": "the documents at /swagger are part of the program",
}

// addKubeRayFlags adds the flags of KubeRay's API server to fs.
func addKubeRayFlags(fs *pflag.FlagSet) {
	for name, why := range withoutEffect {
		fs.String(name, "", "Accepted for compatibility with KubeRay, without effect.")
		_ = fs.MarkDeprecated(name, why) // fails for an unknown name only
	}
	fs.Lookup("collectMetricsFlag").NoOptDefVal = "true" // needs no value, unlike the others
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if own, ok := kuberayFlags[name]; ok {
			name = own
		}
		return pflag.NormalizedName(name)
	})
}

// withTwoDashes gives the flags of KubeRay's API server, which Go's flag package reads, the dashes that they need here.
func withTwoDashes(args []string) []string {
	out := make([]string, 0, len(args))
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if kuberayFlags[name]+withoutEffect[name] != "" && !strings.HasPrefix(arg, "--") {
			arg = "-" + arg
		}
		out = append(out, arg)
	}
	return out
}
