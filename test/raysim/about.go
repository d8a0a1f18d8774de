package raysim

import (
	"net/http"
)

// Version is the version of Ray that the simulator reports; APIVersion is that of its job API.
const (
	Version    = "2.55.0"
	APIVersion = "4"
)

// healthy answers for the GCS. The agents have Ray's other health checks, on another port.
func healthy(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/text; charset=utf-8") // as Ray has it
	_, _ = w.Write([]byte("success"))
}

func (c *Cluster) version(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]string{
		"version": APIVersion, "ray_version": Version, "ray_commit": "simulated", "session_name": "session_simulated",
	})
}

// activity is one component in the answer about activities; times are in seconds since 1970.
type activity struct {
	IsActive       string   `json:"is_active"`
	Reason         *string  `json:"reason"`
	Timestamp      float64  `json:"timestamp"`
	LastActivityAt *float64 `json:"last_activity_at"`
}

func (c *Cluster) activities(w http.ResponseWriter, _ *http.Request) {
	a := activity{IsActive: "INACTIVE", Timestamp: float64(c.opts.Now().UnixMilli()) / 1000}
	c.mu.Lock()
	for _, j := range c.order {
		if !j.details.Status.Terminal() {
			a.IsActive, a.Reason = "ACTIVE", new("Number of active drivers: at least 1")
		}
		if end := j.details.EndTime; end != nil {
			if at := float64(*end) / 1000; a.LastActivityAt == nil || *a.LastActivityAt < at {
				a.LastActivityAt = &at
			}
		}
	}
	c.mu.Unlock()
	writeJSON(w, map[string]activity{"driver": a})
}

// actors answers for actors of one state. All that exist are alive: one per job that has not ended, and the controller of Serve.
func (c *Cluster) actors(w http.ResponseWriter, r *http.Request) {
	list := []map[string]string{}
	if state := r.URL.Query().Get("filter_values"); state == "" || state == "ALIVE" {
		c.mu.Lock()
		for _, j := range c.order {
			if !j.details.Status.Terminal() {
				list = append(list, map[string]string{"class_name": "JobSupervisor", "state": "ALIVE", "ray_namespace": "SUPERVISOR_ACTOR_RAY_NAMESPACE"})
			}
		}
		c.mu.Unlock()
		if c.serves {
			list = append(list, map[string]string{"class_name": "ServeController", "state": "ALIVE", "ray_namespace": "serve"})
		}
	}
	rows(w, len(list), list)
}

// rows answers with a list of the state API.
func rows(w http.ResponseWriter, n int, list any) {
	writeJSON(w, map[string]any{"result": true, "msg": "", "data": map[string]any{"result": map[string]any{
		"total": n, "num_after_truncation": n, "num_filtered": n, "result": list, "partial_failure_warning": "", "warnings": nil,
	}}})
}

// nodeID is the id of the only node, and nodeLog the name of its only log.
const nodeID, nodeLog = "51a71a7ed00000000000000000000000000000000000000000000000", "raylet.out"

// nodes answers for nodes that are alive.
func (c *Cluster) nodes(w http.ResponseWriter, _ *http.Request) {
	rows(w, 1, []map[string]any{{"node_id": nodeID, "node_ip": c.opts.NodeIP, "is_head_node": true, "state": "ALIVE", "node_name": c.opts.NodeIP}})
}

// nodeLogs lists the logs of the node.
func (c *Cluster) nodeLogs(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]any{"result": true, "msg": "", "data": map[string]any{"result": map[string][]string{"raylet": {nodeLog}}}})
}

// readNodeLog sends a log of a node.
func (c *Cluster) readNodeLog(w http.ResponseWriter, r *http.Request) {
	if q := r.URL.Query(); q.Get("node_id") != nodeID || q.Get("filename") != nodeLog {
		plain(w, http.StatusInternalServerError, "A file is not found at: %s", q.Get("filename"))
		return
	}
	plain(w, http.StatusOK, "(raylet) a simulated node of Ray %s\n", Version)
}
