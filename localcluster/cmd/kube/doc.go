// Command kube is etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler and kubectl in one executable. The name it is called with
// (argv[0]) says which of them it is, so links of these names beside it are all
// that is needed. One executable instead of five shares the code they have in
// common: a fifth of the disk space and of the time to link.
//
// It contains no code of its own besides that choice.
package main
