package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var rayClusters = schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayclusters"}

// stream prints a line when Ray clusters or Pods have changed, at most every two seconds.
func (r *runner) stream(ctx context.Context) {
	client, err := dynamic.NewForConfig(r.cp.Config)
	if err != nil {
		r.out.printf("not showing Ray clusters: %v", err)
		return
	}
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c := r.sim.Counts()
		line := fmt.Sprintf("Pods: %d running, %d starting, %d ending, %d done", c.Running, c.Starting, c.Ending, c.Done)
		// A read from the API server's cache is cheap enough for every two seconds.
		list, err := client.Resource(rayClusters).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err == nil {
			line = "Ray clusters: " + states(list.Items) + "; " + line
		}
		if ctx.Err() == nil && line != last {
			last = line
			r.out.printf("%s", line)
		}
	}
}

// states counts clusters by their status.state, such as "2 (1 ready, 1 not reported)".
func states(items []unstructured.Unstructured) string {
	if len(items) == 0 {
		return "0"
	}
	counts := map[string]int{}
	for _, o := range items {
		state, _, _ := unstructured.NestedString(o.Object, "status", "state")
		if state == "" {
			state = "not reported"
		}
		counts[state]++
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[state], state))
	}
	return fmt.Sprintf("%d (%s)", len(items), strings.Join(parts, ", "))
}
