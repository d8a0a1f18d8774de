package servesim

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// States of applications.
const (
	appDeploying    = "DEPLOYING"
	appDeployFailed = "DEPLOY_FAILED"
	appRunning      = "RUNNING"
	appUnhealthy    = "UNHEALTHY"
	appDeleting     = "DELETING"
)

// app is an application from its first PUT until it is gone.
type app struct {
	config   application
	deployed time.Time
	again    time.Time  // it is DEPLOYING until the control loop looks at it
	building *time.Time // when the build that runs is done
	failure  string     // of the last build
	deleting bool

	// The fields below are served: they belong to the last build that succeeded.
	route       *string
	deployments map[string]*running

	status, message string
}

// put applies a config: with the same code it updates what runs, other code is built first.
func (a *app) put(c application, now time.Time, build time.Duration) {
	changed := a.config.code != c.code || a.deleting || a.failure != ""
	a.config, a.deployed, a.deleting = c, now, false
	a.status, a.message, a.again = appDeploying, "", now.Add(loop)
	if changed {
		a.building, a.failure = new(now.Add(c.buildTime(build))), ""
	}
	if a.building == nil {
		a.apply()
	}
}

// remove starts the deletion of the application: its route is removed at once.
func (a *app) remove(now time.Time) {
	a.deleting, a.building, a.route, a.status = true, nil, nil, appDeleting
	a.again = now.Add(loop)
}

// apply replaces the deployments with those of the config.
func (a *app) apply() {
	a.route = a.config.route
	wanted := map[string]*running{}
	for _, d := range a.config.deployments {
		r := a.deployments[d.Name]
		if r == nil {
			r = &running{trigger: triggerUpdateStarted, state: deploymentUpdating}
		}
		r.update(d, a.config.code)
		wanted[d.Name] = r
	}
	a.deployments = wanted
}

// count adds the replicas to the load of their nodes.
func (a *app) count(p *pass) {
	for _, d := range a.deployments {
		for _, r := range d.replicas {
			p.load[r.node]++
		}
	}
}

// advance applies all due changes, and reports whether the application is gone.
func (a *app) advance(p *pass) (gone bool) {
	if a.deleting {
		for _, d := range a.deployments {
			d.config.NumReplicas, d.config.Autoscaling = int64(0), nil
			d.advance(p, a)
		}
		return p.due(a.again) && !slices.ContainsFunc(slices.Collect(maps.Values(a.deployments)), func(d *running) bool { return len(d.replicas) > 0 })
	}
	if a.building != nil && p.due(*a.building) {
		a.building = nil
		switch {
		case !a.config.routable():
			a.failure = "Traceback (most recent call last):\nValueError: route_prefix " + *a.config.route + " must start with /, must not end with it, and has no wildcards"
		case a.config.fails(failBuild):
			a.failure = "Deploying app '" + *a.config.Name + "' failed with exception:\nTraceback (most recent call last):\nModuleNotFoundError: No module named '" + a.config.ImportPath + "'"
		default:
			a.apply()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.deployments)) {
		a.deployments[name].advance(p, a)
	}
	if p.due(a.again) {
		a.status, a.message = a.derive()
	}
	return false
}

// derive is the status that follows from build and deployments: the first that fits.
func (a *app) derive() (status, message string) {
	switch {
	case a.failure != "":
		return appDeployFailed, a.failure
	case a.building != nil:
		return appDeploying, ""
	}
	in := func(states ...string) []string {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(a.deployments)) {
			if slices.Contains(states, a.deployments[name].state) {
				names = append(names, name)
			}
		}
		return names
	}
	if names := in(deploymentFailed); names != nil {
		return appDeployFailed, "Failed to update the deployments [" + strings.Join(names, ", ") + "]."
	}
	if names := in(deploymentUnhealthy); names != nil {
		return appUnhealthy, "The deployments [" + strings.Join(names, ", ") + "] are UNHEALTHY."
	}
	if in(deploymentUpdating, deploymentUpscaling, deploymentDownscaling) != nil {
		return appDeploying, ""
	}
	return appRunning, ""
}

// ingress is the deployment that receives the requests.
func (a *app) ingress() *running {
	if len(a.deployments) == 0 {
		return nil
	}
	if d := a.deployments[a.config.deployments[0].Name]; d != nil {
		return d
	}
	// A config whose build has not ended lists other deployments.
	return a.deployments[slices.Min(slices.Collect(maps.Keys(a.deployments)))]
}
