package main

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/conversion"
)

// warnUnknownVersions logs the versions that the CRDs serve and this operator cannot convert, because the CRDs are newer. The
// operator still becomes ready: without its webhook, conversion of the known versions would fail too.
func warnUnknownVersions(c *rest.Config) {
	unknown, err := unknownVersions(c)
	if err != nil {
		klog.Background().Error(err, "Could not compare the versions of the CRDs with those that can be converted")
	}
	for _, gvk := range unknown {
		klog.Background().Error(nil, "A CRD serves a version that this operator cannot convert; requests for it will fail until the operator is as new as the CRDs",
			"version", gvk.GroupVersion().String(), "kind", gvk.Kind)
	}
}

func unknownVersions(c *rest.Config) ([]schema.GroupVersionKind, error) {
	d, err := discovery.NewDiscoveryClientForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	groups, err := d.ServerGroups()
	if err != nil {
		return nil, fmt.Errorf("asking for API groups: %w", err)
	}
	var unknown []schema.GroupVersionKind
	for _, g := range groups.Groups {
		if g.Name != rayv1.GroupName {
			continue
		}
		for _, v := range g.Versions {
			list, err := d.ServerResourcesForGroupVersion(v.GroupVersion)
			if err != nil {
				return nil, fmt.Errorf("asking for the kinds of %s: %w", v.GroupVersion, err)
			}
			for _, r := range list.APIResources {
				gvk := schema.GroupVersionKind{Group: g.Name, Version: v.Version, Kind: r.Kind}
				if !strings.Contains(r.Name, "/") && !conversion.Known(gvk) {
					unknown = append(unknown, gvk)
				}
			}
		}
	}
	return unknown, nil
}
