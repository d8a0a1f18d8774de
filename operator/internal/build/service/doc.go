// Package service builds the Services of a RayCluster: the one that leads to the head, the one for Ray Serve and the
// headless one of multi-host workers. As the builders of Pods it is pure and never panics. What it builds is what KubeRay
// 1.7 builds; where it deliberately differs the code says so.
package service
