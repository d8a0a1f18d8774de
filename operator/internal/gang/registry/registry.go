// Package registry lists the batch schedulers, so that settings, help and documentation name the same ones.
package registry

import (
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/gang/kai"
	"github.com/raygate/raygate/operator/internal/gang/schedulerplugins"
	"github.com/raygate/raygate/operator/internal/gang/volcano"
	"github.com/raygate/raygate/operator/internal/gang/workloadaware"
	"github.com/raygate/raygate/operator/internal/gang/yunikorn"
)

// OldSwitch is the scheduler that --enable-batch-scheduler selects.
const OldSwitch = volcano.Name

var schedulers = []gang.Scheduler{volcano.Scheduler{}, yunikorn.Scheduler{}, schedulerplugins.Scheduler{}, kai.Scheduler{}}

// Names returns the values of --batch-scheduler.
func Names() []string {
	var names []string
	for _, s := range schedulers {
		names = append(names, s.Name())
	}
	return names
}

// Find returns the scheduler of the name, nil if there is none.
func Find(name string) gang.Scheduler {
	for _, s := range schedulers {
		if s.Name() == name {
			return s
		}
	}
	return nil
}

// Kubernetes returns the scheduler behind the feature gate KubernetesWAS, which has no name of its own in settings.
func Kubernetes() gang.Scheduler { return workloadaware.Scheduler{} }
