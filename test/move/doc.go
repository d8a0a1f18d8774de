// Package move has the test that moves from KubeRay to raygate and back, by the commands of docs/moving-from-kuberay.md.
//
// It has no code outside its tests. KubeRay itself does not run: the objects that it leaves are in testdata, and in that of the RayCluster
// controller, written by hand after its documentation. Its CRDs are those of this repository without raygate's additions; TestCRDsOfKubeRay
// compares them with the known properties of KubeRay's. The programs must have been built (`make build`).
package move
