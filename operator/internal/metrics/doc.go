// Package metrics holds the Prometheus collectors of the operator, under the names that dashboards for KubeRay use.
//
// Series about objects are computed from the cache when they are scraped, so that nothing has to be forgotten when an
// object goes away.
package metrics
