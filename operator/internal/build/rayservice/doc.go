// Package rayservice builds what a RayService is made into: its RayClusters, the Services that lead to the one that is used, and the
// Gateway and HTTPRoute of upgrades in steps. As the other builders it is pure and never panics. What it builds is what KubeRay 1.7
// builds; where it deliberately differs the code says so.
package rayservice
