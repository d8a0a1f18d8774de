package realnode

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

const architecture = runtime.GOARCH

// programs of this machine, and the package of Debian each is in.
var programs = map[string]string{"ip": "iproute2", "nft": "nftables", "mount": "mount", "conntrack": "conntrack"}

// built are the programs that the nodes consist of.
var built = []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc", "kubelet", "kube-proxy", "kube-controller-manager", "dns", "pause", "cni/bridge", "cni/host-local", "cni/loopback"}

// Missing names everything that real nodes need and that is not there, with how to get it.
func Missing(bin string) error {
	var errs []error
	if runtime.GOOS != "linux" {
		return errors.New("real nodes need Linux")
	}
	if os.Geteuid() != 0 {
		errs = append(errs, errors.New("real nodes need root"))
	}
	for program, pkg := range programs {
		if _, err := exec.LookPath(program); err != nil {
			errs = append(errs, fmt.Errorf("the program %s is missing; on Debian: apt-get install %s", program, pkg))
		}
	}
	for _, file := range []string{"/sys/fs/cgroup", "/proc/sys/net/bridge/bridge-nf-call-iptables"} {
		if _, err := os.Stat(file); err != nil {
			errs = append(errs, fmt.Errorf("%s is missing; load the kernel's module br_netfilter, or mount cgroups", file))
		}
	}
	for _, name := range built {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			errs = append(errs, fmt.Errorf("not built yet: %s; run: make node", filepath.Join(bin, name)))
		}
	}
	return errors.Join(errs...)
}
