package main

// dashboards are all of them.
var dashboards = []dashboard{
	{
		uid: "raygate-ray", title: "Ray on Kubernetes", variables: []variable{{"namespace", "kuberay_cluster_info"}},
		rows: []row{
			{"Clusters", []panel{
				{"RayClusters by what made them", "short", "None are those that people made.", []query{{`count by (owner_kind) (kuberay_cluster_info{namespace=~"$namespace"})`, "{{owner_kind}}"}}},
				{"Provisioned", "short", "false are those that have never had all their Pods.", []query{{`count by (condition) (kuberay_cluster_condition_provisioned{namespace=~"$namespace"})`, "{{condition}}"}}},
				{"Stalled, by reason", "short", "Waiting does not help; the condition Stalled says which Pod is concerned.", []query{{`count by (reason) (raygate_cluster_condition_stalled{namespace=~"$namespace"})`, "{{reason}}"}}},
				{"Time until provisioned", "s", "The slowest of those that are there.", []query{{`topk(10, kuberay_cluster_provisioned_duration_seconds{namespace=~"$namespace"})`, "{{namespace}}/{{name}}"}}},
			}},
			{"Jobs", []panel{
				{"RayJobs by state", "short", "", []query{{`count by (deployment_status) (kuberay_job_deployment_status{namespace=~"$namespace"})`, "{{deployment_status}}"}}},
				{"Duration of attempts", "s", "The longest of those that are there.", []query{{`topk(10, kuberay_job_execution_duration_seconds{namespace=~"$namespace"})`, "{{namespace}}/{{name}} {{job_deployment_status}}"}}},
			}},
			{"Services", []panel{
				{"RayServices that are ready", "short", "", []query{{`count by (condition) (kuberay_service_condition_ready{namespace=~"$namespace"})`, "{{condition}}"}}},
				{"Upgrades", "short", "RayServices that go from one cluster to another.", []query{{`count(kuberay_service_condition_upgrade_in_progress{namespace=~"$namespace",condition="true"})`, "in progress"}}},
			}},
			{"Rules", []panel{
				{"Objects that are refused", "short", "Their condition InvalidSpec lists all broken rules.", []query{{`sum by (kind) (raygate_invalid_objects)`, "{{kind}}"}}},
				{"Broken rules", "short", "docs/validation.md says what they are about.", []query{{`sum by (rule) (increase(raygate_validation_failures_total[1h]))`, "{{rule}}"}, {`sum by (rule) (increase(raygate_webhook_refusals_total[1h]))`, "{{rule}} (webhook)"}}},
			}},
		},
	},
	{
		uid: "raygate-operator", title: "raygate operator", variables: []variable{{"controller", "controller_runtime_reconcile_total"}},
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
		uid: "raygate-gateway", title: "raygate gateway", variables: []variable{{"grpc_service", "grpc_server_handled_total"}},
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
}
