// Package dashboards connects to the dashboards of clusters and to the proxies of Ray Serve on their heads: directly or through
// the API server, with the token of the cluster if it requires one. The controllers of RayJobs and RayServices share it. It must
// not be used within a reconcile.
package dashboards
