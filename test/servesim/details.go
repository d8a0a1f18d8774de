package servesim

import (
	"time"
)

// object is one of JSON.
type object map[string]any

// details are the answer about everything. The caller holds s.mu.
func (s *Serve) details(applications bool) object {
	if !s.started {
		return object{"deploy_mode": "MULTI_APP", "controller_info": object{}, "proxies": object{}, "applications": object{}, "target_capacity": nil}
	}
	nodes := map[string]Node{}
	var head Node
	for _, n := range s.opts.Nodes() {
		nodes[n.ID] = n
		if n.Head {
			head = n
		}
	}
	proxies, apps := object{}, object{}
	for id, p := range s.proxies {
		proxies[id] = with(actor(nodes[id], "SERVE_PROXY_ACTOR-"+id), "status", p.status(s.opts.Now()))
	}
	if applications {
		for name, a := range s.apps {
			apps[name] = a.details(name, nodes, s.opts.Now())
		}
	}
	http := object{"host": "0.0.0.0", "port": s.httpPort(), "root_path": s.options.HTTP.RootPath, "request_timeout_s": nil, "keep_alive_timeout_s": 5}
	return object{
		"controller_info": actor(head, "SERVE_CONTROLLER_ACTOR"),
		"proxy_location":  s.location(),
		"http_options":    http,
		"grpc_options":    object{"port": 9000, "grpc_servicer_functions": []any{}},
		"proxies":         proxies,
		"deploy_mode":     "MULTI_APP",
		"applications":    apps,
		"target_capacity": s.capacity,
	}
}

func (s *Serve) httpPort() int {
	if p := s.options.HTTP.Port; p != nil {
		return *p
	}
	return 8000
}

func actor(n Node, name string) object {
	return object{
		"node_id": n.ID, "node_ip": n.IP, "node_instance_id": n.ID, "actor_id": "actor-" + name, "actor_name": name, "worker_id": "worker-" + name,
		"log_file_path": "/serve/" + name + ".log",
	}
}

func with(o object, key string, value any) object {
	o[key] = value
	return o
}

func (a *app) details(name string, nodes map[string]Node, now time.Time) object {
	deployments := object{}
	var route any
	if a.building == nil {
		for deployment, d := range a.deployments {
			deployments[deployment] = d.details(deployment, nodes, now)
		}
		if a.route != nil {
			route = *a.route
		}
	}
	return object{
		"name": name, "route_prefix": route, "docs_path": nil, "status": a.status, "message": a.message, "last_deployed_time_s": seconds(a.deployed),
		"deployed_app_config": a.config.raw, "source": "declarative", "deployments": deployments, "external_scaler_enabled": false,
	}
}

func (d *running) details(name string, nodes map[string]Node, now time.Time) object {
	replicas := make([]object, 0, len(d.replicas))
	for _, r := range d.replicas {
		state := "STARTING"
		switch {
		case !r.stopping.IsZero():
			state = "STOPPING"
		case r.runs(now):
			state = "RUNNING"
		}
		o := actor(nodes[r.node], "SERVE_REPLICA::"+r.id)
		o["replica_id"], o["state"], o["pid"], o["start_time_s"] = r.id, state, r.pid, seconds(r.started)
		replicas = append(replicas, o)
	}
	return object{
		"name": name, "status": d.state, "status_trigger": d.trigger, "message": d.message, "deployment_config": d.config.raw,
		"target_num_replicas": d.target, "required_resources": d.config.required, "replicas": replicas,
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
