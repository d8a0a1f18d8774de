// Package pod builds the head and worker Pods of a RayCluster from its spec. It uses no client, clock or environment variable and
// does not change its arguments. The operator's flags arrive in Options.
//
// The Pods equal those of KubeRay 1.7 in everything that running clusters or Ray can see: names, labels, start command,
// environment. So either operator can take over the clusters of the other. Comments mark deliberate differences.
//
// Builders never fail and never panic: for an object that admission would reject, they return a Pod that the API server rejects.
package pod
