// Package names derives the names of everything that belongs to a RayCluster from the cluster alone.
//
// The names are a contract: clients, dashboards and the objects of running clusters know them, so a rule here never
// changes. The package stands apart because builders, the plan for Pods and the controllers all need the same names and
// none of them may import another.
package names
