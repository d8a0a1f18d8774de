// Command kube contains etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl in one executable. The name in
// argv[0] selects the program, so links with these names are sufficient. One executable shares the common code, which takes a
// fifth of the disk space and link time of five executables.
//
// It contains no other code of its own.
package main
