// Package rayservice reconciles RayServices: it creates the clusters of a service, sends the configuration to Ray Serve, points
// the Services to the cluster that can serve requests, and replaces clusters without losing requests. Package serveplan decides
// the next actions. This package observes the state and carries out the plan.
//
// A reconcile only calls the API server. Pollers query dashboards and proxies in the background and trigger a reconcile when an
// answer changes.
package rayservice
