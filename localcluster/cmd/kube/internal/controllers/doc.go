// Package controllers is the kube-controller-manager of clusters whose nodes are simulated: the controllers of Kubernetes that Ray
// objects and what surrounds them need, each as Kubernetes has it.
//
// It leaves out those for disks, clouds, certificates of kubelets and lost nodes. The one of Kubernetes links 300 packages for them,
// among them most of a kubelet, which takes a tenth of the first build. Real nodes have that one; see cmd/node.
package controllers
