// Package pod builds the head and worker Pods of a RayCluster: spec in, object out. Nothing here talks to a cluster,
// reads a clock or the environment, or changes what it is given; what the operator's flags decide arrives in Options.
//
// What is built is what KubeRay 1.7 builds, to the byte where running clusters or Ray itself can see it (names, labels,
// start command, environment), so that either operator can take over the clusters of the other. The places where this
// package deliberately differs say so.
//
// A builder never fails and never panics: an object that admission would refuse yields a Pod that the API server refuses.
package pod
