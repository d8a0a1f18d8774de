// Package names derives the names of all objects of a RayCluster.
//
// The names are a contract: clients, dashboards and running clusters depend on them, so these rules never change. Builders, the
// Pod plan and the controllers share the package, because they must not import each other.
package names
