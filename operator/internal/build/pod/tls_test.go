package pod

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestWhoGetsTheCertificate(t *testing.T) {
	off := raytest.Spec(func(s *rayv1.RayClusterSpec) { s.TLSOptions = &rayv1.TLSOptions{Enabled: new(false)} })
	empty := raytest.Spec(func(s *rayv1.RayClusterSpec) { s.TLSOptions = &rayv1.TLSOptions{} })
	noGate := allOptions
	noGate.MTLS = false
	cases := map[string]struct {
		o           Options
		opt         raytest.ClusterOption
		wantEnv     []string
		wantMounted []string
	}{
		"enabled": {
			o: allOptions, opt: encrypted,
			wantEnv:     []string{"ray-head", "autoscaler", "wait-gcs-ready", "ray-worker"},
			wantMounted: []string{"wait-for-tls-ip-san", "ray-head", "autoscaler", "wait-for-tls-ip-san", "wait-gcs-ready", "ray-worker"},
		},
		"gate off": {o: noGate, opt: encrypted},
		"disabled": {o: allOptions, opt: off},
		"empty":    {o: allOptions, opt: empty},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.o.HeadSidecars = []corev1.Container{{Name: "operator's"}}
			head, worker := buildBoth(tc.o, tc.opt, autoscaled, collected)
			want := [][]string{tc.wantEnv, tc.wantMounted}
			got := [][]string{withEnv("RAY_TLS_CA_CERT", head, worker), withMount("ray-tls", head, worker)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("containers with the variables and with the mount (-want +got):\n%s", diff)
			}
			var secrets []string
			for _, p := range []*corev1.Pod{head, worker} {
				for _, v := range p.Spec.Volumes {
					if v.Secret != nil {
						secrets = append(secrets, v.Name+"="+v.Secret.SecretName)
					}
				}
			}
			var wantSecrets []string
			if tc.wantMounted != nil {
				wantSecrets = []string{"ray-tls=ray-head-secret-demo", "ray-tls=ray-worker-secret-demo"}
			}
			if diff := cmp.Diff(wantSecrets, secrets); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMountAtThePathOfTheCertificateStays(t *testing.T) {
	head, _ := buildBoth(allOptions, encrypted, raytest.HeadContainer(func(c *corev1.Container) {
		c.VolumeMounts = []corev1.VolumeMount{{Name: "mine", MountPath: "/etc/ray/tls/"}}
	}))
	if diff := cmp.Diff([]string{"wait-for-tls-ip-san"}, withMount("ray-tls", head)); diff != "" {
		t.Errorf("containers with the operator's mount (-want +got):\n%s", diff)
	}
}

// TestCertificateScript runs the script of the init container. The loop for ever is cut short by a sleep that fails.
func TestCertificateScript(t *testing.T) {
	for _, tool := range []string{"sh", "openssl", "grep", "cut"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the script needs %s, which is not here", tool)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "tls.crt")
	writeCertificate(t, file, "10.1.2.3", "fd00::1")
	cases := map[string]struct {
		ip       string
		file     string
		wantDone bool
	}{
		"in the certificate":            {ip: "10.1.2.3", file: file, wantDone: true},
		"IPv6 in the certificate":       {ip: "fd00::1", file: file, wantDone: true},
		"not in the certificate":        {ip: "10.1.2.4", file: file},
		"the beginning of one in there": {ip: "10.1.2.30", file: file},
		"no certificate yet":            {ip: "10.1.2.3", file: filepath.Join(dir, "absent")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			script := strings.ReplaceAll(certificateScript(tc.file), "sleep 5", "exit 7")
			cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
			cmd.Env = append(os.Environ(), "POD_IP="+tc.ip)
			out, err := cmd.CombinedOutput()
			if done := err == nil; done != tc.wantDone || !done && cmd.ProcessState.ExitCode() != 7 {
				t.Errorf("want done: %t, got error %v and output %s", tc.wantDone, err, out)
			}
		})
	}
	t.Run("no address", func(t *testing.T) {
		hostname := "#!/bin/sh\nexit 0\n"
		if err := os.WriteFile(filepath.Join(dir, "hostname"), []byte(hostname), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", certificateScript(file))
		cmd.Env = append(os.Environ(), "POD_IP=", "PATH="+dir+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("want exit code 1, got error %v and output %s", err, out)
		}
	})
	t.Run("no openssl", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", certificateScript(file))
		cmd.Env = []string{"PATH=" + dir, "POD_IP=10.1.2.3"}
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "openssl") {
			t.Errorf("want exit code 1 and a word about openssl, got error %v and output %s", err, out)
		}
	})
}

func writeCertificate(t *testing.T, file string, ips ...string) {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	for _, ip := range ips {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(ip))
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
