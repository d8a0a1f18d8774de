// Package rayservice builds the children of a RayService: its RayClusters, the Services for the active cluster, and the Gateway
// and HTTPRoute for incremental upgrades. Like the other builders it is pure and never panics. It builds what KubeRay 1.7 builds;
// comments mark deliberate differences.
package rayservice
