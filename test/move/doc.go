// Package move holds the test that goes from KubeRay to raygate and back, by the commands of docs/moving-from-kuberay.md as they stand there.
//
// It has no code outside its tests. KubeRay itself does not run: what it leaves is in testdata, and in that of the RayCluster controller, written by hand
// after its documentation; its CRDs are those of this repository without what raygate adds, held to what is known of them by TestCRDsOfKubeRay. The
// programs must have been built (`make build`).
package move
