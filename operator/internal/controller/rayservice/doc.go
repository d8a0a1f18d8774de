// Package rayservice runs RayServices: it makes the clusters of a service, hands Ray Serve its configuration, leads the Services to the
// cluster that can take requests, and replaces a cluster by another without losing any. What happens next is decided by package
// serveplan; here the world is observed, and what the plan asks for is done.
//
// A reconcile talks to nobody but the API server. Dashboards and proxies are asked by pollers in the background, whose last answers are
// part of what is observed and which wake a reconcile when an answer changed.
package rayservice
