package main

import (
	"github.com/raygate/raygate/operator/internal/features"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/gang/registry"
)

// scheduler is the batch scheduler that was asked for, nil for none. Valid options ask for one at most.
func (o *Options) scheduler() gang.Scheduler {
	if o.Gates.Enabled(features.KubernetesWAS) {
		return registry.Kubernetes()
	}
	return registry.Find(o.BatchScheduler)
}

// schedulerName is what the rules know it by; empty for none.
func (o *Options) schedulerName() string {
	if s := o.scheduler(); s != nil {
		return s.Name()
	}
	return ""
}
