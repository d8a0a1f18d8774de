package raycount

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Names of start parameters about devices.
const (
	ParamGPUs      = "num-gpus"
	ParamResources = "resources"
)

// Group is the resources of one group in a RayCluster, as the user wrote them.
type Group struct {
	// StartParams are its rayStartParams.
	StartParams map[string]string
	// Resources are those of the group. Releases of Ray without the field only read limits and StartParams.
	Resources map[string]string
	// Container is the Ray container of its template.
	Container corev1.ResourceRequirements
}

// UserGPUs is the number of GPUs that the user gives; ok is false without one, also for a text that a shell makes a number of.
func (g *Group) UserGPUs() (n int64, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(g.Resources)) {
		if strings.HasSuffix(strings.ToLower(name), "gpu") {
			q, err := resource.ParseQuantity(g.Resources[name])
			return q.Value(), err == nil
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(g.StartParams[ParamGPUs]), 10, 64)
	return n, err == nil
}

// SetsGPUs reports whether the user sets GPUs in any way.
func (g *Group) SetsGPUs() bool {
	_, set := g.StartParams[ParamGPUs]
	for name := range g.Resources {
		set = set || strings.HasSuffix(strings.ToLower(name), "gpu")
	}
	return set
}

// SeenGPUs is the number of GPUs of a node of the group as the autoscaler computes it. It is the number that the user sets, or else the
// first resource whose name ends in "gpu", with limits before requests. The autoscaler does not know memory of devices, MIG profiles, or
// families with other names.
func (g *Group) SeenGPUs() int64 {
	if n, ok := g.UserGPUs(); ok {
		return n
	}
	for _, list := range []corev1.ResourceList{g.Container.Limits, g.Container.Requests} {
		for _, name := range slices.SortedFunc(maps.Keys(list), cmp.Compare[corev1.ResourceName]) {
			if q := list[name]; strings.HasSuffix(string(name), "gpu") && q.Value() > 0 {
				return q.Value()
			}
		}
	}
	return 0
}

// Sees reports whether the autoscaler finds the custom resource in the user's settings.
func (g *Group) Sees(name string) bool {
	if _, ok := g.Resources[name]; ok {
		return true
	}
	custom, _ := ParseResources(g.StartParams[ParamResources])
	_, ok := custom[name]
	return ok
}

// ParseResources reads the start parameter "resources": a JSON object of numbers that people wrap in quotes for the shell,
// or escape as "{\"A\": 1}". Empty text is an empty object. ok is false for any other text.
func ParseResources(text string) (custom map[string]float64, ok bool) {
	text = strings.Trim(text, "'\"` \t\r\n")
	if text == "" {
		return map[string]float64{}, true
	}
	for _, candidate := range []string{text, strings.ReplaceAll(text, `\"`, `"`)} {
		var custom map[string]float64
		if err := json.Unmarshal([]byte(candidate), &custom); err == nil && custom != nil {
			return custom, true
		}
	}
	return nil, false
}
