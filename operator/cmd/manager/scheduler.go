package main

import (
	"github.com/raygate/raygate/operator/internal/features"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/gang/registry"
)

// scheduler returns the configured batch scheduler; nil for none. Valid options have at most one.
func (o *Options) scheduler() gang.Scheduler {
	if o.Gates.Enabled(features.KubernetesWAS) {
		return registry.Kubernetes()
	}
	return registry.Find(o.BatchScheduler)
}

// schedulerName returns its name for the validation rules; empty for none.
func (o *Options) schedulerName() string {
	if s := o.scheduler(); s != nil {
		return s.Name()
	}
	return ""
}
