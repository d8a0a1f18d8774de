// Package dashboards reaches the dashboards of clusters and the proxies of Ray Serve on their heads: directly or through the API server,
// and with the token of the cluster where that demands one. It is apart from the controllers because RayJobs and RayServices need the
// same, and must not be used within a reconcile.
package dashboards
