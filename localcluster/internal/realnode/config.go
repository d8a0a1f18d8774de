package realnode

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

// files are the configuration of a node by path; {{.}} is a settings.
var files = map[string]string{
	"containerd.toml": `version = 3
root = "{{.Dir}}/containerd"
state = "{{.State}}/containerd"
disabled_plugins = ["io.containerd.internal.v1.tracing", "io.containerd.nri.v1.nri"]
[grpc]
  address = "{{.Socket}}"
[ttrpc]
  address = "{{.Socket}}.ttrpc"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "{{.Pause}}"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  disable_apparmor = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["{{.Bin}}/cni"]
    conf_dir = "{{.Dir}}/cni"
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = "runc"
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      BinaryName = "{{.Bin}}/runc"
      Root = "{{.State}}/runc"
      SystemdCgroup = false
`,
	// Pods may reach the rest of the world only as far as this machine forwards: what they need, their image has.
	"cni/10-raygate.conflist": `{
  "cniVersion": "1.0.0",
  "name": "raygate",
  "plugins": [{
    "type": "bridge", "bridge": "{{.Bridge}}", "isGateway": false, "hairpinMode": true,
    "ipam": {
      "type": "host-local", "dataDir": "{{.State}}/ipam",
      "ranges": [[{"subnet": "{{.PodRange}}", "rangeStart": "{{.First}}", "rangeEnd": "{{.Last}}", "gateway": "{{.Gateway}}"}]],
      "routes": [{"dst": "0.0.0.0/0"}]
    }
  }]
}
`,
	"kubelet.yaml": `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {{.Address}}
port: {{.KubeletPort}}
healthzPort: 0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: false}
  x509: {clientCAFile: {{.ClientCA}}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://{{.Socket}}
cgroupDriver: cgroupfs
cgroupRoot: {{.Cgroup}}
failCgroupV1: false
enforceNodeAllocatable: []
failSwapOn: false
clusterDNS: [{{.Gateway}}]
clusterDomain: {{.Domain}}
resolvConf: {{.Dir}}/resolv.conf
podLogsDir: {{.Dir}}/logs
evictionHard: {memory.available: 200Mi, nodefs.available: 2%, imagefs.available: 2%}
imageGCHighThresholdPercent: 99
imageGCLowThresholdPercent: 98
registerNode: true
nodeStatusUpdateFrequency: 4s
volumePluginDir: {{.Dir}}/plugins
`,
	// A Pod asks the DNS of the cluster only.
	"resolv.conf": "nameserver {{.Gateway}}\n",
}

type settings struct {
	Dir, State, Bin, Socket, Bridge, Pause, ClientCA, Cgroup, Domain string
	Address, Gateway, PodRange, First, Last                          string
	KubeletPort                                                      int
}

func (n node) settings() settings {
	first := n.pods().Addr().As4()
	last := first
	first[3], last[3] = 2, 254
	text := func(a [4]byte) string { return fmt.Sprintf("%d.%d.%d.%d", a[0], a[1], a[2], a[3]) }
	return settings{
		Dir: n.path(), State: n.state(), Bin: n.o.Bin, Socket: n.socket(), Bridge: bridge, Pause: pauseImage, ClientCA: n.o.ClientCA, Cgroup: n.cgroup(),
		Domain: Domain, Address: n.address().String(), Gateway: gateway.String(), PodRange: podRange.String(), First: text(first), Last: text(last),
		KubeletPort: kubeletPort,
	}
}

// writeFiles writes the configuration of the node.
func (n node) writeFiles() error {
	for name, text := range files {
		t, err := template.New(name).Option("missingkey=error").Parse(text)
		if err != nil {
			return fmt.Errorf("reading template of %s: %w", name, err)
		}
		var b bytes.Buffer
		if err := t.Execute(&b, n.settings()); err != nil {
			return fmt.Errorf("making %s: %w", name, err)
		}
		if err := os.MkdirAll(filepath.Dir(n.path(name)), 0o700); err != nil {
			return fmt.Errorf("making folder of the node: %w", err)
		}
		if err := os.WriteFile(n.path(name), b.Bytes(), 0o600); err != nil {
			return fmt.Errorf("writing configuration of the node: %w", err)
		}
	}
	for _, dir := range []string{n.state(), n.path("logs")} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return fmt.Errorf("making folder of the node: %w", err)
		}
	}
	return nil
}
