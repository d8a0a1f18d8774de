// Package dashboardproxy connects callers to the dashboards of Ray clusters: directly, or through the Service proxy of the Kubernetes API
// server. It is the gateway's only access to dashboards.
//
// A dashboard cannot distinguish callers, so Kubernetes authorizes them. A caller needs the right that the Service proxy requires, on
// services/proxy of the head Service. The token of the cluster is read from its Secret with the caller's credentials, and is only sent to
// the dashboard. The caller's own credentials never reach a dashboard, because it runs users' programs.
package dashboardproxy
