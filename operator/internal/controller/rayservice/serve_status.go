package rayservice

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/dashboard"
)

// Bounds of what the status keeps of what Ray says, in bytes: an object has to fit into etcd, and a status that cannot be saved would keep the
// service from going on.
const (
	maxName    = 256
	maxWord    = 64
	maxMessage = 2 << 10
	// maxStatuses is for all applications on a cluster together; JSON may need six times as much. entry is what each takes besides its texts.
	maxStatuses = 64 << 10
	entry       = 64
)

// statusesOf is what Ray says about applications as the status has it. Where that is too long, deployments and then applications are left out, first
// of all those that are well: whether all of them run can be told from what is left.
func statusesOf(d *dashboard.ServeDetails) map[string]rayv1.AppStatus {
	all, room := map[string]rayv1.AppStatus{}, maxStatuses
	names := slices.SortedFunc(maps.Keys(d.Applications), func(a, b string) int {
		return worseFirst(d.Applications[a].Status == rayv1.ApplicationRunning, d.Applications[b].Status == rayv1.ApplicationRunning, a, b)
	})
	for _, name := range names {
		found := d.Applications[name]
		app := rayv1.AppStatus{Status: clip(found.Status, maxWord), Message: clip(found.Message, maxMessage), Deployments: map[string]rayv1.ServeDeploymentStatus{}}
		key := clip(cmp.Or(name, "default"), maxName)
		if room -= entry + len(key) + len(app.Status) + len(app.Message); room < 0 && len(all) > 0 {
			break
		}
		if _, twice := all[key]; twice {
			continue
		}
		room = deploymentsOf(found, app.Deployments, room)
		all[key] = app
	}
	return all
}

// deploymentsOf adds the deployments for which there is room, and returns what is left of that.
func deploymentsOf(app dashboard.ServeApplication, all map[string]rayv1.ServeDeploymentStatus, room int) int {
	names := slices.SortedFunc(maps.Keys(app.Deployments), func(a, b string) int {
		return worseFirst(app.Deployments[a].Status == rayv1.DeploymentHealthy, app.Deployments[b].Status == rayv1.DeploymentHealthy, a, b)
	})
	for _, name := range names {
		found := app.Deployments[name]
		st := rayv1.ServeDeploymentStatus{Status: clip(found.Status, maxWord), Message: clip(found.Message, maxMessage)}
		key := clip(name, maxName)
		needs := entry + len(key) + len(st.Status) + len(st.Message)
		if needs > room {
			break
		}
		room -= needs
		all[key] = st
	}
	return room
}

// worseFirst compares two of which some are well.
func worseFirst(wellA, wellB bool, a, b string) int {
	switch {
	case wellA == wellB:
		return cmp.Compare(a, b)
	case wellB:
		return -1
	}
	return 1
}

// clip keeps the beginning and the end of a text: a traceback says last what went wrong.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const gap = " ... "
	tail := (most - len(gap)) * 3 / 4
	return strings.ToValidUTF8(text[:most-len(gap)-tail], "") + gap + strings.ToValidUTF8(text[len(text)-tail:], "")
}
