package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/operator/internal/features"
)

// restartsContainers is the first Kubernetes version in which containers have a restart policy without a feature gate.
var restartsContainers = version.MustParseGeneric("1.35.0")

// checkKubernetes rejects settings that the Kubernetes version does not support; otherwise Pods would be rejected much later.
func checkKubernetes(o *Options) error {
	if !o.Gates.Enabled(features.SidecarSubmitterRestart) {
		return nil
	}
	is, err := serverVersion(o.Config)
	if err != nil {
		return fmt.Errorf("asking for the version of Kubernetes, which the feature gate %s depends on: %w", features.SidecarSubmitterRestart, err)
	}
	if is.LessThan(restartsContainers) {
		return fmt.Errorf("feature gate %s is true, but needs Kubernetes %s, and this is %s; leave it out", features.SidecarSubmitterRestart, restartsContainers, is)
	}
	return nil
}

func serverVersion(c *rest.Config) (*version.Version, error) {
	d, err := discovery.NewDiscoveryClientForConfig(c)
	if err != nil {
		return nil, err
	}
	info, err := d.ServerVersion()
	if err != nil {
		return nil, err
	}
	return version.ParseGeneric(info.GitVersion)
}
