// Package service builds the Services of a RayCluster: for the head, for Ray Serve, and the headless one for multi-host workers.
// Like the Pod builders it is pure and never panics. It builds what KubeRay 1.7 builds; comments mark deliberate differences.
package service
