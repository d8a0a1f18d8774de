package main

import (
	"slices"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// TestKubeRayFlags has the command lines of KubeRay's manifests, chart and documents.
func TestKubeRayFlags(t *testing.T) {
	o, fs := NewOptions(), pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(fs)
	addKubeRayFlags(fs)
	args := withTwoDashes([]string{
		"-rpcPortFlag=:1", "--httpPortFlag=127.0.0.1:2", "-collectMetricsFlag", "-logFilePath", "/tmp/log", "-localSwaggerPath=/swagger", "-grpc_timeout=5s",
		"--enable-api-server-v2=false", "-cors-allow-origin=*",
	})
	if err := fs.Parse(args); err != nil || fs.NArg() > 0 {
		t.Fatal(err, fs.Args())
	}
	if o.GRPCAddress != ":1" || o.HTTPAddress != "127.0.0.1:2" || o.CallTimeout != 5*time.Second || o.V1.KubernetesPaths || !slices.Equal(o.CORSAllowedOrigins, []string{"*"}) {
		t.Errorf("understood as %+v", o)
	}
	if !fs.Changed("http-address") {
		t.Error("the address counts as not given")
	}
	if others := []string{"-v", "3", "--", "-", ""}; !slices.Equal(withTwoDashes(others), others) {
		t.Errorf("other arguments become %v", withTwoDashes(others))
	}
	if o := NewOptions(); o.GRPCAddress != ":8887" || o.HTTPAddress != ":8888" || o.CallTimeout != time.Minute || !o.V1.Enabled || !o.V1.KubernetesPaths {
		t.Errorf("other defaults than KubeRay's: %+v", o)
	}
}
