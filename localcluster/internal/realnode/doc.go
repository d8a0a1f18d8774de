// Package realnode runs real nodes on this machine: kubelet, containerd and runc, the network of Pods as one bridge, kube-proxy, and the
// DNS of the cluster. It needs Linux and root. Everything that it makes outside of its folder (processes, mounts, the bridge, rules of
// nftables, cgroups) goes with Clean, which also runs before a start: whatever a crash has left is gone then.
package realnode
