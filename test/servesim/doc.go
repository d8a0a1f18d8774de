// Package servesim simulates Ray Serve on the nodes of one Ray cluster: the REST API of the dashboard with the states that applications,
// deployments and replicas go through, and the HTTP proxies of the nodes, which answer health checks and echo the requests to routes.
//
// Like raysim it imports nothing of raygate, and the module localcluster reaches it through a symbolic link.
//
// Nothing of an application runs. Its deployments are those that the config lists, or one named after the attribute of its import path.
// Environment variables in the runtime_env of an application configure its failures: RAYGATE_SIM_SERVE_FAIL with the value build, replica
// or health, and RAYGATE_SIM_SERVE_BUILD with the duration of a build, such as 5s.
package servesim
