package devicequota

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/devices/plan"
)

// Reasons of events about a ResourceQuota.
const (
	// ReasonExceeded means that Pods use more than the quota allows: it was lowered, the Pods are older, or replicas admitted them
	// at the same moment.
	ReasonExceeded = "DeviceQuotaExceeded"
	// ReasonRounded means that the quota allows a fraction of a unit, which no Pod can use.
	ReasonRounded = "DeviceQuotaRounded"
)

// EventSource is the name of the auditor in events.
const EventSource = "raygate-device-quota"

// Auditor sends events about exceeded quotas and about limits that cannot be meant as written. It reports each finding once until
// it disappears. All fields are required.
type Auditor struct {
	Engine   *Engine
	Recorder events.EventRecorder
	// Every is the interval of the audit.
	Every time.Duration
	Clock clock.WithTicker

	said map[finding]bool
}

// finding is a problem with one resource of one quota.
type finding struct {
	quota            types.UID
	reason, resource string
}

// Start audits until the context ends. It implements manager.Runnable.
func (a *Auditor) Start(ctx context.Context) error {
	ticker := a.Clock.NewTicker(a.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			a.look()
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only one replica sends events.
func (*Auditor) NeedLeaderElection() bool { return true }

func (a *Auditor) look() {
	if !a.Engine.Ready() {
		return
	}
	said := map[finding]bool{}
	for _, n := range a.Engine.all() {
		for _, q := range n.audited(a.Engine.o.Registry.Program()) {
			var news []report.Event
			for _, f := range slices.SortedFunc(maps.Keys(q.notes), func(x, y finding) int { return strings.Compare(x.reason+x.resource, y.reason+y.resource) }) {
				if !a.said[f] {
					news = append(news, report.Warning(f.reason, "Audit", q.notes[f]))
				}
				said[f] = true
			}
			report.Send(a.Recorder, q.object, news)
		}
	}
	a.said = said
}

// audited is a quota with its findings.
type audited struct {
	object *corev1.ResourceQuota
	notes  map[finding]string
}

func (n *namespace) audited(p *plan.Program) []audited {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.use(p)
	var out []audited
	for _, q := range n.quotas {
		notes := map[finding]string{}
		for _, l := range limits(p, q) {
			if !l.exact {
				notes[finding{q.UID, ReasonRounded, l.resource}] = fmt.Sprintf("%s is %s, which is rounded down to whole units", l.key, l.text)
			}
			if u := n.used(q, l.resource, ""); u.total() > l.hard {
				notes[finding{q.UID, ReasonExceeded, l.resource}] = fmt.Sprintf("%s: in use %d%s, hard %d%s", l.resource, u.total(), p.Unit(l.resource), l.hard, p.Unit(l.resource))
			}
		}
		if len(notes) > 0 {
			out = append(out, audited{q, notes})
		}
	}
	return out
}
