package servesim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// States of deployments, and their triggers.
const (
	deploymentUpdating    = "UPDATING"
	deploymentHealthy     = "HEALTHY"
	deploymentUnhealthy   = "UNHEALTHY"
	deploymentFailed      = "DEPLOY_FAILED"
	deploymentUpscaling   = "UPSCALING"
	deploymentDownscaling = "DOWNSCALING"

	triggerUpdateStarted   = "CONFIG_UPDATE_STARTED"
	triggerUpdateCompleted = "CONFIG_UPDATE_COMPLETED"
	triggerUpscaled        = "UPSCALE_COMPLETED"
	triggerDownscaled      = "DOWNSCALE_COMPLETED"
	triggerStartupFailed   = "REPLICA_STARTUP_FAILED"
	triggerHealthFailed    = "HEALTH_CHECK_FAILED"
)

// maxReplicas is the number of replicas that fit on the nodes of any cluster. A deployment with more waits for resources, as in Ray.
const maxReplicas = 1000

// running is a deployment of an application that was built.
type running struct {
	config         deployment
	code           string // of the replicas that it is to have
	replicas       []*replica
	target         int
	was            int  // the target before
	complete       bool // it has had all its replicas once
	requests       int  // so far, for turns
	state, trigger string
	message        string
}

type replica struct {
	id       string
	code     string
	node     string
	pid      int
	started  time.Time
	ready    time.Time // RUNNING from then on
	stopping time.Time // set: gone by then
	leaving  bool      // its node is about to go
}

func (r *replica) runs(now time.Time) bool { return r.stopping.IsZero() && !r.ready.After(now) }

// update applies a config.
func (d *running) update(c deployment, code string) {
	if d.code != code {
		d.complete = false
	}
	d.config, d.code = c, code
}

// advance moves the replicas towards the target, and derives the state.
func (d *running) advance(p *pass, a *app) {
	if target := d.config.target(p.capacity); target != d.target {
		d.was, d.target = d.target, target
	}
	d.drop(p)
	lost := d.complete && len(d.current()) < d.target && d.target <= d.was
	if !a.config.fails(failReplica) {
		for range min(d.target, maxReplicas) - len(d.current()) {
			d.add(p, *a.config.Name)
		}
	}
	d.stopSurplus(p)
	d.derive(p, a, lost)
}

// drop removes the replicas whose node is gone, and those that have stopped.
func (d *running) drop(p *pass) {
	d.replicas = slices.DeleteFunc(d.replicas, func(r *replica) bool {
		node, alive := p.nodes[r.node]
		r.leaving = node.Leaving
		stopped := !r.stopping.IsZero() && p.due(r.stopping)
		if alive && !stopped {
			return false
		}
		p.load[r.node]--
		return true
	})
}

// current are the replicas that are to stay, by age.
func (d *running) current() []*replica {
	var out []*replica
	for _, r := range d.replicas {
		if r.code == d.code && r.stopping.IsZero() && !r.leaving {
			out = append(out, r)
		}
	}
	return out
}

// add starts a replica on the node with the fewest; a head gets some only if it is the only node.
func (d *running) add(p *pass, app string) {
	nodes := slices.DeleteFunc(slices.Collect(maps.Values(p.nodes)), func(n Node) bool { return n.Leaving })
	if slices.ContainsFunc(nodes, func(n Node) bool { return !n.Head }) {
		nodes = slices.DeleteFunc(nodes, func(n Node) bool { return n.Head })
	}
	if len(nodes) == 0 {
		return
	}
	node := slices.MinFunc(nodes, func(a, b Node) int { return cmp.Or(p.load[a.ID]-p.load[b.ID], strings.Compare(a.ID, b.ID)) })
	p.load[node.ID]++
	n := p.newReplica()
	d.replicas = append(d.replicas, &replica{
		id: fmt.Sprintf("%s#%s#r%06d", app, d.config.Name, n), code: d.code, node: node.ID, pid: 1000 + n, started: p.now, ready: p.now.Add(p.opts.Start),
	})
}

// ready is how many of the current replicas run.
func (d *running) ready(p *pass) int {
	n := 0
	for _, r := range d.current() {
		if p.due(r.ready) {
			n++
		}
	}
	return n
}

// stopSurplus stops replicas above the target, the youngest first, and replicas of older code once newer ones can take over.
func (d *running) stopSurplus(p *pass) {
	current, ready := d.current(), d.ready(p)
	for i, r := range current {
		if i >= d.target {
			r.stopping = p.now.Add(p.opts.Start)
			p.due(r.stopping)
		}
	}
	for _, r := range d.replicas {
		if r.code != d.code && r.stopping.IsZero() && !r.leaving && ready >= d.target {
			r.stopping = p.now.Add(p.opts.Start)
			p.due(r.stopping)
		}
	}
}

// derive sets the state from the running replicas and the previous state.
func (d *running) derive(p *pass, a *app, lost bool) {
	stopping := slices.ContainsFunc(d.replicas, func(r *replica) bool { return !r.stopping.IsZero() })
	set := func(state, trigger, message string) { d.state, d.trigger, d.message = state, trigger, message }
	all := d.ready(p) >= d.target
	fails := func(how string) bool { return d.target > 0 && a.config.fails(how) }
	switch {
	case fails(failReplica):
		set(deploymentFailed, triggerStartupFailed, "The deployment failed to start 3 times in a row.")
	case all && fails(failHealth):
		set(deploymentUnhealthy, triggerHealthFailed, "A replica's health check failed.")
	case all && !stopping:
		set(deploymentHealthy, d.completed(), "")
		d.complete, d.was = true, d.target
	case lost || d.state == deploymentUnhealthy:
		set(deploymentUnhealthy, triggerHealthFailed, "A replica is gone; another one starts.")
	case !d.complete:
		set(deploymentUpdating, triggerUpdateStarted, "")
	case d.target > d.was:
		set(deploymentUpscaling, triggerUpdateStarted, "")
	case stopping:
		set(deploymentDownscaling, triggerUpdateStarted, "")
	}
}

// completed is the trigger of a deployment that is healthy now.
func (d *running) completed() string {
	switch d.state {
	case deploymentUpscaling:
		return triggerUpscaled
	case deploymentDownscaling:
		return triggerDownscaled
	case deploymentHealthy:
		return d.trigger
	}
	return triggerUpdateCompleted
}
