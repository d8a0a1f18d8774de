// Package metrics holds the Prometheus collectors of the operator, under the names that dashboards for KubeRay use.
//
// Series about objects are computed from the cache at each scrape, so series of deleted objects need no cleanup.
package metrics
