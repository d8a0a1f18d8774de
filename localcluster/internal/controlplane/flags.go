package controlplane

import (
	"fmt"
	"path/filepath"
)

// layout returns the paths of files below the folder of a control plane.
type layout struct{ dir string }

func (l layout) path(name string) string        { return filepath.Join(l.dir, name) }
func (l layout) log(part string) string         { return filepath.Join(l.dir, "logs", part+".log") }
func (l layout) etcdData() string               { return l.path("etcd") }
func (l layout) certs() string                  { return l.path("pki") }
func (l layout) servingCert() string            { return filepath.Join(l.certs(), "apiserver.crt") }
func (l layout) serviceAccountKey() string      { return filepath.Join(l.certs(), "service-account.key") }
func (l layout) kubeletClientCert() string      { return filepath.Join(l.certs(), "kubelet-client.crt") }
func (l layout) kubeletClientKey() string       { return filepath.Join(l.certs(), "kubelet-client.key") }
func (l layout) tokens() string                 { return filepath.Join(l.certs(), "tokens.csv") }
func (l layout) kubeconfig() string             { return l.path("kubeconfig") }
func (l layout) partKubeconfig(p string) string { return filepath.Join(l.certs(), p+".kubeconfig") }
func (l layout) egress() string                 { return l.path("egress.yaml") }

func etcdFlags(l layout, o Options) []string {
	client := fmt.Sprintf("http://127.0.0.1:%d", o.Ports.EtcdClient)
	peer := fmt.Sprintf("http://127.0.0.1:%d", o.Ports.EtcdPeer)
	flags := []string{
		"--name=default",
		"--data-dir=" + l.etcdData(),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
		// Room for load tests: etcd becomes read-only at the default of 2 GiB.
		"--quota-backend-bytes=8589934592",
		"--log-level=warn",
	}
	if o.Unsafe {
		flags = append(flags, "--unsafe-no-fsync")
	}
	return flags
}

func apiServerFlags(l layout, o Options) []string {
	flags := []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", o.Ports.EtcdClient),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", o.Ports.Secure),
		"--cert-dir=" + l.certs(), // the API server writes a self-signed pair there and keeps it
		// The Service "kubernetes" would need an address that is not loopback.
		"--endpoint-reconciler-type=none",
		"--token-auth-file=" + l.tokens(),
		"--authorization-mode=Node,RBAC",
		"--service-account-key-file=" + l.serviceAccountKey(),
		"--service-account-signing-key-file=" + l.serviceAccountKey(),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--allow-privileged=true",
		"--max-requests-inflight=3000",
		"--max-mutating-requests-inflight=2000",
		"--http2-max-streams-per-connection=1000",
		fmt.Sprintf("--profiling=%t", o.Profiling),
	}
	if o.AuditPolicy != "" {
		flags = append(flags, "--audit-policy-file="+o.AuditPolicy, "--audit-log-path="+l.log("audit"))
	}
	if o.AuthenticationConfig != "" {
		flags = append(flags, "--authentication-config="+o.AuthenticationConfig)
	}
	if o.realNodes() {
		// Evict Pods from a lost node after half a minute, not after five.
		return append(flags,
			"--kubelet-client-certificate="+l.kubeletClientCert(),
			"--kubelet-client-key="+l.kubeletClientKey(),
			"--kubelet-preferred-address-types=InternalIP",
			"--default-not-ready-toleration-seconds=30",
			"--default-unreachable-toleration-seconds=30")
	}
	// The node life cycle controller is off, so nothing would remove the taint.
	flags = append(flags, "--disable-admission-plugins=TaintNodesByCondition")
	if o.Egress != "" {
		flags = append(flags,
			"--egress-selector-config-file="+l.egress(),
			// The names of simulated nodes cannot be resolved.
			"--kubelet-preferred-address-types=InternalIP")
	}
	return flags
}

func controllerManagerFlags(l layout, o Options) []string {
	flags := []string{
		"--kubeconfig=" + l.partKubeconfig("kube-controller-manager"),
		"--service-account-private-key-file=" + l.serviceAccountKey(),
		"--root-ca-file=" + l.servingCert(),
	}
	if !o.realNodes() {
		return flags // of cmd/kube, which has no others
	}
	flags = append(flags,
		"--leader-elect=false",
		"--secure-port=0",
		"--controllers=*,-node-ipam-controller",
		"--node-monitor-grace-period=20s",
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
		"--profiling=false",
	)
	for _, kind := range []string{"deployment", "replicaset", "job", "cron-job", "namespace", "endpoint", "service-endpoint", "serviceaccount-token", "statefulset", "daemonset"} {
		flags = append(flags, "--concurrent-"+kind+"-syncs=20")
	}
	return append(flags, "--concurrent-gc-syncs=50")
}

func schedulerFlags(l layout) []string {
	return []string{
		"--kubeconfig=" + l.partKubeconfig("kube-scheduler"),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
		"--profiling=false",
	}
}
