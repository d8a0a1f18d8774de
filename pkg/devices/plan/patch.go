package plan

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Operation is an operation of a JSON patch (RFC 6902): add or replace only.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Operations are the changes to the Pod that FromJSON read; none if it stays as it is. They only touch resources of the registry,
// variables, annotations, runtime class and scheduler, and add parents only where they are missing.
func (r *Result) Operations() []Operation {
	var ops []Operation
	if r.changes.empty() {
		return ops
	}
	for i := range r.changes.containers {
		c, change := &r.pod.containers[i], &r.changes.containers[i]
		path := "/spec/" + c.list + "/" + strconv.Itoa(c.index)
		ops = append(ops, resourceOperations(c, change, path+"/resources")...)
		ops = append(ops, envOperations(c, change, path+"/env")...)
	}
	if s := r.changes.runtimeClass; s != "" {
		ops = append(ops, Operation{"add", "/spec/runtimeClassName", s})
	}
	if s := r.changes.scheduler; s != "" {
		ops = append(ops, Operation{"add", "/spec/schedulerName", s})
	}
	return append(ops, r.annotationOperations()...)
}

func resourceOperations(c *container, change *containerChanges, path string) []Operation {
	if len(change.limits)+len(change.requests) == 0 {
		return nil
	}
	if !c.hasResources {
		value := map[string]any{}
		if len(change.limits) > 0 {
			value["limits"] = change.limits
		}
		if len(change.requests) > 0 {
			value["requests"] = change.requests
		}
		return []Operation{{"add", path, value}}
	}
	return append(listOperations(c.hasLimits, c.limits, change.limits, path+"/limits"),
		listOperations(c.hasRequests, c.requests, change.requests, path+"/requests")...)
}

// listOperations adds members to an object, or the object.
func listOperations(there bool, has, want map[string]string, path string) []Operation {
	if len(want) == 0 {
		return nil
	}
	if !there {
		return []Operation{{"add", path, want}}
	}
	var ops []Operation
	for _, name := range slices.Sorted(maps.Keys(want)) {
		op := "add"
		if _, ok := has[name]; ok {
			op = "replace"
		}
		ops = append(ops, Operation{op, path + "/" + escape(name), want[name]})
	}
	return ops
}

// envVar is an entry as it is added.
type envVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func envOperations(c *container, change *containerChanges, path string) []Operation {
	var ops []Operation
	var added []envVar
	for _, e := range change.env {
		entry := envVar{e.name, e.value}
		switch {
		case e.at < 0:
			added = append(added, entry)
		case e.whole: // a value and a source exclude each other
			ops = append(ops, Operation{"replace", path + "/" + strconv.Itoa(e.at), entry})
		default:
			ops = append(ops, Operation{"add", path + "/" + strconv.Itoa(e.at) + "/value", e.value})
		}
	}
	if len(added) > 0 && !c.hasEnv {
		return append(ops, Operation{"add", path, added})
	}
	for _, entry := range added {
		ops = append(ops, Operation{"add", path + "/-", entry})
	}
	return ops
}

func (r *Result) annotationOperations() []Operation {
	want := r.changes.annotations
	switch {
	case len(want) == 0:
		return nil
	case !r.pod.hasMetadata:
		return []Operation{{"add", "/metadata", map[string]any{"annotations": want}}}
	default:
		return listOperations(r.pod.hasAnnotations, r.pod.annotations, want, "/metadata/annotations")
	}
}

// escape is for a part of a JSON pointer.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
