// Package dashboardproxy leads callers to the dashboards of Ray clusters: directly, or through the Service proxy of the Kubernetes API server. It is
// the only way from the gateway to a dashboard.
//
// A dashboard cannot tell callers apart, so Kubernetes decides: a caller needs the right that the Service proxy would ask for, on services/proxy of
// the head Service. The token of the cluster is read from its Secret with the caller's credentials, goes to the dashboard and nowhere else. The
// caller's own credentials never reach a dashboard, which runs what users submit.
package dashboardproxy
