package rayservice

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/pkg/dashboard"
)

// Limits for Ray's texts in the status, in bytes. An object has to fit into etcd, and a status that cannot be saved would block
// the service.
const (
	maxName    = 256
	maxWord    = 64
	maxMessage = 2 << 10
	// maxStatuses limits the sum for all applications on a cluster; its JSON may be six times as large. entry is the size of an
	// entry without its texts.
	maxStatuses = 64 << 10
	entry       = 64
)

// statusesOf converts Ray's application statuses. If they are too large, it leaves out deployments and then applications, healthy
// ones first, so that the rest still shows whether all of them run.
func statusesOf(d *dashboard.ServeDetails) map[string]rayv1.AppStatus {
	all, room := map[string]rayv1.AppStatus{}, maxStatuses
	fits := func(texts ...string) bool {
		room -= entry + len(strings.Join(texts, ""))
		return room >= 0
	}
	for _, name := range worstFirst(d.Applications, func(a dashboard.ServeApplication) bool { return a.Status == rayv1.ApplicationRunning }) {
		found := d.Applications[name]
		app := rayv1.AppStatus{Status: clip(found.Status, maxWord), Message: clip(found.Message, maxMessage), Deployments: map[string]rayv1.ServeDeploymentStatus{}}
		key := clip(cmp.Or(name, "default"), maxName)
		if _, twice := all[key]; twice {
			continue
		}
		if !fits(key, app.Status, app.Message) && len(all) > 0 {
			break
		}
		all[key] = app
		for _, name := range worstFirst(found.Deployments, func(d dashboard.ServeDeployment) bool { return d.Status == rayv1.DeploymentHealthy }) {
			st := rayv1.ServeDeploymentStatus{Status: clip(found.Deployments[name].Status, maxWord), Message: clip(found.Deployments[name].Message, maxMessage)}
			if key := clip(name, maxName); fits(key, st.Status, st.Message) {
				app.Deployments[key] = st
			} else {
				break
			}
		}
	}
	return all
}

// worstFirst returns the names, those of unhealthy values first.
func worstFirst[V any](m map[string]V, well func(V) bool) []string {
	rank := map[bool]int{true: 1}
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(rank[well(m[a])]-rank[well(m[b])], cmp.Compare(a, b))
	})
}

func clip(text string, most int) string { return conditions.ClipMiddle(text, " ... ", most) }

// deployed returns the configuration of each application that Ray reports as deployed.
func deployed(d *dashboard.ServeDetails) map[string]json.RawMessage {
	configs := map[string]json.RawMessage{}
	for name, app := range d.Applications {
		configs[name] = app.Config
	}
	return configs
}
