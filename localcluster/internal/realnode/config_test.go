package realnode

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"
)

// TestFiles: the configuration is in the form that its readers decode, and nodes share nothing but the bridge.
func TestFiles(t *testing.T) {
	o := Options{Dir: t.TempDir(), Bin: "/b", Count: 2, ClientCA: "/ca"}
	seen := map[string]string{}
	for _, n := range o.nodes() {
		if err := n.writeFiles(); err != nil {
			t.Fatal(err)
		}
		read := func(name string) []byte {
			t.Helper()
			data, err := os.ReadFile(n.path(name))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(data), "<no value>") {
				t.Errorf("%s has a gap:\n%s", name, data)
			}
			return data
		}
		var kubelet kubeletconfig.KubeletConfiguration
		if err := yaml.UnmarshalStrict(read("kubelet.yaml"), &kubelet); err != nil {
			t.Errorf("kubelet.yaml: %v", err)
		}
		var cni struct {
			Plugins []struct {
				Bridge string
				IPAM   struct {
					Ranges [][]struct{ Subnet, RangeStart, RangeEnd, Gateway string }
				}
			}
		}
		if err := json.Unmarshal(read("cni/10-raygate.conflist"), &cni); err != nil {
			t.Errorf("CNI: %v", err)
		}
		r := cni.Plugins[0].IPAM.Ranges[0][0]
		for what, value := range map[string]string{
			"address": kubelet.Address, "socket": kubelet.ContainerRuntimeEndpoint, "cgroup": kubelet.CgroupRoot, "Pods": r.RangeStart,
			"logs": kubelet.PodLogsDir, "containerd": string(read("containerd.toml")),
		} {
			if other, ok := seen[what+value]; ok || value == "" {
				t.Errorf("%s and %s have the same %s: %s", other, n.name(), what, value)
			}
			seen[what+value] = n.name()
		}
		if !n.pods().Contains(mustAddr(t, r.RangeStart)) || !n.pods().Contains(mustAddr(t, r.RangeEnd)) || n.pods().Contains(n.address()) {
			t.Errorf("the range %s to %s is not within %s", r.RangeStart, r.RangeEnd, n.pods())
		}
	}
}

// TestMissing: everything that is missing is named at once, with how to get it.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	err := Missing(dir)
	if err == nil {
		t.Fatal("nothing is missing in an empty folder")
	}
	for _, name := range built {
		if want := filepath.Join(dir, name) + "; run: make node"; strings.Contains(err.Error(), "need Linux") == strings.Contains(err.Error(), want) {
			t.Errorf("want %q in: %v", want, err)
		}
	}
}

// TestCleanNothing: where nothing was, nothing is removed, and that is no error.
func TestCleanNothing(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("as root it would end real nodes of this machine")
	}
	if err := Clean(t.TempDir()); err != nil {
		t.Error(err)
	}
}

func mustAddr(t *testing.T, text string) netip.Addr {
	t.Helper()
	a, err := netip.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
