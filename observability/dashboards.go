package main

// dashboards are all of them.
var dashboards = []dashboard{
	{
		uid: "raygate-ray", title: "Ray on Kubernetes", metric: "raygate_invalid_objects", variables: []variable{{"namespace", "kuberay_cluster_info"}},
		rows: []row{
			{"Clusters", []panel{
				{"RayClusters by what made them", "short", "None are those that people made.", []query{{`count by (owner_kind) (kuberay_cluster_info{namespace=~"$namespace"})`, "{{owner_kind}}"}}},
				{"Provisioned", "short", "false are those that have never had all their Pods.", []query{{`count by (condition) (kuberay_cluster_condition_provisioned{namespace=~"$namespace"})`, "{{condition}}"}}},
				{"Stalled, by reason", "short", "The condition Stalled names the Pod and the cause.", []query{{`count by (reason) (raygate_cluster_condition_stalled{namespace=~"$namespace"})`, "{{reason}}"}}},
				{"Waiting, by reason", "short", "For a node, scheduling gates or a quota.", []query{{`count by (reason) (raygate_cluster_waits{namespace=~"$namespace"})`, "{{reason}}"}}},
				{"Suspended", "short", "Those that wait in a queue are among them.", []query{{`count(raygate_cluster_suspended{namespace=~"$namespace"})`, "suspended"}}},
				{"Time until provisioned (90 %)", "s", "", []query{{`histogram_quantile(0.9, sum by (le) (rate(raygate_cluster_provisioning_seconds_bucket[1h])))`, "clusters"}}},
				{"Time until provisioned", "s", "The slowest of those that are there.", []query{{`topk(10, kuberay_cluster_provisioned_duration_seconds{namespace=~"$namespace"})`, "{{namespace}}/{{name}}"}}},
			}},
			{"Jobs", []panel{
				{"RayJobs by state", "short", "", []query{{`count by (deployment_status) (kuberay_job_deployment_status{namespace=~"$namespace"})`, "{{deployment_status}}"}}},
				{"Attempts that ended", "short", "In the last hour.", []query{{`sum by (state) (increase(raygate_job_attempts_ended_total{namespace=~"$namespace"}[1h]))`, "{{state}}"}}},
				{"Duration of attempts (90 %)", "s", "", []query{{`histogram_quantile(0.9, sum by (le, state) (rate(raygate_job_attempt_seconds_bucket[1h])))`, "{{state}}"}}},
				{"RayCronJobs that are late", "s", "The time since a run was due that has not been made.", []query{{`time() - raygate_cronjob_due_timestamp_seconds{namespace=~"$namespace"} > 60`, "{{namespace}}/{{name}}"}}},
				{"Duration of attempts", "s", "The longest of those that are there.", []query{{`topk(10, kuberay_job_execution_duration_seconds{namespace=~"$namespace"})`, "{{namespace}}/{{name}} {{job_deployment_status}}"}}},
			}},
			{"Services", []panel{
				{"RayServices that are ready", "short", "", []query{{`count by (condition) (kuberay_service_condition_ready{namespace=~"$namespace"})`, "{{condition}}"}}},
				{"Upgrades", "short", "RayServices that move from one cluster to another.", []query{{`count(kuberay_service_condition_upgrade_in_progress{namespace=~"$namespace",condition="true"})`, "in progress"}}},
			}},
			{"Rules", []panel{
				{"Objects that are refused", "short", "Their condition InvalidSpec lists all broken rules.", []query{{`sum by (kind) (raygate_invalid_objects)`, "{{kind}}"}}},
				{"Broken rules", "short", "docs/validation.md says what they are about.", []query{{`sum by (rule) (increase(raygate_validation_failures_total[1h]))`, "{{rule}}"}, {`sum by (rule) (increase(raygate_webhook_refusals_total[1h]))`, "{{rule}} (webhook)"}}},
			}},
		},
	},
	{
		uid: "raygate-operator", title: "raygate operator", metric: "raygate_invalid_objects", variables: []variable{{"controller", "controller_runtime_reconcile_total"}},
		rows: []row{
			{"Work", []panel{
				{"Reconciles", "ops", "", []query{{`sum by (controller, result) (rate(controller_runtime_reconcile_total{controller=~"$controller"}[5m]))`, "{{controller}} {{result}}"}}},
				{"Duration of a reconcile (99 %)", "s", "", []query{{`histogram_quantile(0.99, sum by (le, controller) (rate(controller_runtime_reconcile_time_seconds_bucket{controller=~"$controller"}[5m])))`, "{{controller}}"}}},
				{"Waiting objects", "short", "", []query{{`sum by (controller) (workqueue_depth{controller=~"$controller"})`, "{{controller}}"}}},
				{"Time in the queue (99 %)", "s", "", []query{{`histogram_quantile(0.99, sum by (le, controller) (rate(workqueue_queue_duration_seconds_bucket{controller=~"$controller"}[5m])))`, "{{controller}}"}}},
				{"Busy workers", "percentunit", "At 100 % --reconcile-concurrency is the limit.", []query{{`sum by (controller) (controller_runtime_active_workers{controller=~"$controller"}) / sum by (controller) (controller_runtime_max_concurrent_reconciles{controller=~"$controller"})`, "{{controller}}"}}},
				{"Errors and panics", "ops", "", []query{{`sum by (controller) (rate(controller_runtime_reconcile_errors_total{controller=~"$controller"}[5m]))`, "{{controller}} errors"}, {`sum by (controller) (rate(controller_runtime_reconcile_panics_total{controller=~"$controller"}[5m]))`, "{{controller}} panics"}}},
			}},
			{"API server", []panel{
				{"Requests by answer", "ops", "", []query{{`sum by (code, method) (rate(rest_client_requests_total[5m]))`, "{{method}} {{code}}"}}},
				{"Duration (99 %)", "s", "", []query{{`histogram_quantile(0.99, sum by (le, verb) (rate(rest_client_request_duration_seconds_bucket[5m])))`, "{{verb}}"}}},
				{"Held back by the client's limit (99 %)", "s", "--kube-api-qps and --kube-api-burst.", []query{{`histogram_quantile(0.99, sum by (le, verb) (rate(rest_client_rate_limiter_duration_seconds_bucket[5m])))`, "{{verb}}"}}},
				{"Retries", "ops", "", []query{{`sum by (code) (rate(rest_client_request_retries_total[5m]))`, "{{code}}"}}},
			}},
			{"Webhooks", []panel{
				{"Answers", "ops", "failed is a fault of the operator; the object passed.", []query{{`sum by (webhook, outcome) (rate(raygate_webhook_requests_total[5m]))`, "{{webhook}} {{outcome}}"}}},
				{"Conversions", "ops", "", []query{{`sum by (version, outcome) (rate(raygate_webhook_converted_objects_total[5m]))`, "{{version}} {{outcome}}"}}},
				{"Days until the certificate ends", "d", "", []query{{`(raygate_webhook_certificate_expiry_timestamp_seconds - time()) / 86400`, "days"}}},
				{"Devices", "ops", "", []query{{`sum by (webhook, outcome) (rate(device_webhook_requests_total[5m]))`, "{{webhook}} {{outcome}}"}}},
			}},
			{"Process", []panel{
				{"Memory", "bytes", "", []query{{`process_resident_memory_bytes`, "{{pod}}"}}},
				{"CPU", "short", "", []query{{`rate(process_cpu_seconds_total[5m])`, "{{pod}}"}}},
			}},
		},
	},
	{
		uid: "raygate-gateway", title: "raygate gateway", metric: "raygate_apiserver_cached_objects", variables: []variable{{"grpc_service", "grpc_server_handled_total"}},
		rows: []row{
			{"Calls", []panel{
				{"Calls by method", "ops", "REST included.", []query{{`sum by (grpc_method) (rate(grpc_server_handled_total{grpc_service=~"$grpc_service"}[5m]))`, "{{grpc_method}}"}}},
				{"Calls by answer", "ops", "", []query{{`sum by (grpc_code) (rate(grpc_server_handled_total{grpc_service=~"$grpc_service",grpc_code!="OK"}[5m]))`, "{{grpc_code}}"}}},
				{"Duration (99 %), without waits and streams", "s", "", []query{{`histogram_quantile(0.99, sum by (le, grpc_method) (rate(grpc_server_handling_seconds_bucket{grpc_type="unary",grpc_method!~"Wait.*",grpc_service=~"$grpc_service"}[5m])))`, "{{grpc_method}}"}}},
				{"REST by answer", "ops", "", []query{{`sum by (route, code) (rate(raygate_apiserver_http_request_duration_seconds_count[5m]))`, "{{route}} {{code}}"}}},
				{"Refused at the edge", "ops", "Before a body was read: without credentials, or beyond a limit.", []query{{`sum by (transport, code) (rate(raygate_apiserver_edge_refused_total[5m]))`, "{{transport}} {{code}}"}}},
				{"Open streams", "short", "", []query{{`sum by (grpc_method) (grpc_server_started_total{grpc_type=~".*_stream"}) - sum by (grpc_method) (grpc_server_handled_total{grpc_type=~".*_stream"})`, "{{grpc_method}}"}}},
			}},
			{"Cache", []panel{
				{"Objects", "short", "", []query{{`max by (resource) (raygate_apiserver_cached_objects)`, "{{resource}}"}}},
				{"Time without contact to the API server", "s", "Reads go on; writes fail.", []query{{`max by (resource) (raygate_apiserver_cache_age_seconds)`, "{{resource}}"}}},
				{"Encoded answers that are kept", "bytes", "", []query{{`raygate_apiserver_encoded_bytes`, "{{pod}}"}}},
				{"Memory", "bytes", "", []query{{`process_resident_memory_bytes`, "{{pod}}"}}},
			}},
		},
	},
	{
		uid: "raygate-ray-nodes", title: "Ray nodes", metric: "ray_node_cpu_count",
		variables: []variable{{"namespace", "ray_node_cpu_count"}, {"ray_io_cluster", "ray_node_cpu_count"}}, everywhere: []string{"namespace", "ray_io_cluster"},
		rows: []row{
			{"Nodes", []panel{
				{"Active nodes", "short", "By group, as the autoscaler of Ray counts them.", []query{{`sum by (node_type) (ray_cluster_active_nodes)`, "{{node_type}}"}}},
				{"Pending and failed nodes", "short", "", []query{{`sum by (node_type) (ray_cluster_pending_nodes)`, "{{node_type}} pending"}, {`sum by (node_type) (ray_cluster_failed_nodes)`, "{{node_type}} failed"}}},
				{"CPU", "percent", "", []query{{`ray_node_cpu_utilization`, "{{pod}}"}}},
				{"Memory", "percentunit", "Ray stops workers at 95 % by default.", []query{{`ray_node_mem_used / ray_node_mem_total`, "{{pod}}"}}},
				{"Disk", "percentunit", "", []query{{`ray_node_disk_usage / (ray_node_disk_usage + ray_node_disk_free)`, "{{pod}}"}}},
				{"Network", "Bps", "", []query{{`ray_node_network_receive_speed`, "{{pod}} received"}, {`ray_node_network_send_speed`, "{{pod}} sent"}}},
			}},
			{"Accelerators", []panel{
				{"GPU utilization", "percent", "", []query{{`ray_node_gpus_utilization`, "{{pod}} {{GpuIndex}}"}}},
				{"GPU memory", "decmbytes", "", []query{{`ray_node_gram_used`, "{{pod}} {{GpuIndex}}"}}},
				{"TPU duty cycle", "percent", "", []query{{`ray_tpu_duty_cycle`, "{{pod}} {{TpuIndex}}"}}},
				{"TPU memory", "percentunit", "", []query{{`ray_tpu_memory_used / ray_tpu_memory_total`, "{{pod}} {{TpuIndex}}"}}},
			}},
			{"Work", []panel{
				{"Tasks", "short", "", []query{{`sum by (State) (ray_tasks{State!~"FINISHED|FAILED"})`, "{{State}}"}}},
				{"Actors", "short", "", []query{{`sum by (State) (ray_actors{State!="DEAD"})`, "{{State}}"}}},
				{"Resources in use", "short", "What tasks and actors reserve.", []query{{`sum by (Name) (ray_resources{Name=~"CPU|GPU|TPU",State="USED"})`, "{{Name}}"}}},
				{"Object store", "bytes", "", []query{{`sum by (Location) (ray_object_store_memory)`, "{{Location}}"}}},
				{"Workers stopped for memory", "short", "In the last hour.", []query{{`sum by (Type) (increase(ray_memory_manager_worker_eviction_total[1h]))`, "{{Type}}"}}},
			}},
			{"Serve", []panel{
				{"Requests", "reqps", "", []query{{`sum by (application, status_code) (rate(ray_serve_num_http_requests_total[5m]))`, "{{application}} {{status_code}}"}}},
				{"Errors", "reqps", "", []query{{`sum by (application, error_code) (rate(ray_serve_num_http_error_requests_total[5m]))`, "{{application}} {{error_code}}"}}},
				{"Duration (99 %)", "ms", "", []query{{`histogram_quantile(0.99, sum by (le, application) (rate(ray_serve_http_request_latency_ms_bucket[5m])))`, "{{application}}"}}},
				{"Queued requests", "short", "", []query{{`sum by (application, deployment) (ray_serve_deployment_queued_queries)`, "{{application}}/{{deployment}}"}}},
			}},
		},
	},
}
