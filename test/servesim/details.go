package servesim

import (
	"maps"
	"slices"
	"time"
)

// object is one of JSON.
type object map[string]any

// details are the answer about the whole instance. The caller holds s.mu.
func (s *Serve) details(applications bool) object {
	if !s.started {
		return object{"controller_info": object{}, "proxies": object{}, "applications": object{}, "target_capacity": nil}
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
	http := object{
		"host": "0.0.0.0", "port": s.httpPort(), "root_path": s.options.HTTP.RootPath, "request_timeout_s": nil, "keep_alive_timeout_s": 90,
		"ssl_keyfile": nil, "ssl_certfile": nil, "ssl_keyfile_password": nil, "ssl_ca_certs": nil,
	}
	return object{
		"controller_info":               actor(head, "SERVE_CONTROLLER_ACTOR"),
		"proxy_location":                s.location(),
		"http_options":                  http,
		"grpc_options":                  object{"port": 9000, "grpc_servicer_functions": []any{}, "request_timeout_s": nil, "enable_reflection": true},
		"proxies":                       proxies,
		"applications":                  apps,
		"target_capacity":               s.capacity,
		"target_groups":                 []object{s.targets(nodes)},
		"restores_unset_config_options": true,
	}
}

// targets are the proxies that a load balancer may use. The caller holds s.mu.
func (s *Serve) targets(nodes map[string]Node) object {
	targets := []object{}
	for _, id := range slices.Sorted(maps.Keys(s.proxies)) {
		if s.proxies[id].status(s.opts.Now()) == "HEALTHY" {
			targets = append(targets, object{"ip": nodes[id].IP, "port": s.httpPort(), "instance_id": id, "name": "SERVE_PROXY_ACTOR-" + id})
		}
	}
	return object{
		"targets": targets, "route_prefix": "/", "protocol": "HTTP", "app_name": "", "ingress_deployment_name": "", "ingress_request_router_targets": []any{},
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
	var route, topology any
	if a.building == nil {
		topology = a.topology(name)
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
		"deployment_topology": topology,
	}
}

// topology is the graph of calls between deployments, which has no edges here. It is nil if there are no deployments.
func (a *app) topology(name string) any {
	if len(a.deployments) == 0 {
		return nil
	}
	ingress, nodes := "", object{}
	for deployment, d := range a.deployments {
		first := d == a.ingress()
		if first {
			ingress = deployment
		}
		nodes[deployment] = object{"name": deployment, "app_name": name, "is_ingress": first, "outbound_deployments": []any{}}
	}
	return object{"app_name": name, "ingress_deployment": ingress, "nodes": nodes}
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
		"name": name, "status": d.state, "status_trigger": d.trigger, "message": d.message, "deployment_config": d.config.complete(),
		"target_num_replicas": d.target, "required_resources": d.config.required, "replicas": replicas, "recent_dead_replicas": []any{},
	}
}

// complete is the config with Ray's defaults.
func (d *deployment) complete() object {
	o := object{
		"max_ongoing_requests": 5, "max_queued_requests": -1, "graceful_shutdown_wait_loop_s": 2.0, "graceful_shutdown_timeout_s": 20.0,
		"health_check_period_s": 10.0, "health_check_timeout_s": 30.0, "max_surge_percent": 25.0, "rolling_update_percentage": 20.0,
		"ray_actor_options": object{"num_cpus": d.required["CPU"]}, "backpressure_config": object{"status_code": 503, "retry_after_s": nil},
		"request_router_config": object{
			"request_router_class": "ray.serve._private.request_router:PowerOfTwoChoicesRequestRouter", "request_router_kwargs": object{},
			"request_routing_stats_period_s": 10.0, "request_routing_stats_timeout_s": 30.0,
			"initial_backoff_s": 0.025, "backoff_multiplier": 2.0, "max_backoff_s": 0.5,
		},
	}
	if d.Autoscaling == nil {
		o["num_replicas"] = 1
	}
	maps.Copy(o, d.raw)
	return o
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
