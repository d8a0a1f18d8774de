package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
)

// Users of the token file. Their names appear in logs and metrics. All are administrators, which also exempts them from API
// priority and fairness.
const (
	userAdmin             = "admin"
	userControllerManager = "system:kube-controller-manager"
	userScheduler         = "system:kube-scheduler"
	userSupervisor        = "raygate-local"
)

var users = []string{userAdmin, userControllerManager, userScheduler, userSupervisor}

// tokens reads the token file, or writes one with random tokens. Tokens are kept, so that kubeconfigs stay valid after a restart.
func tokens(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	switch {
	case err == nil:
		if out := parseTokens(string(data)); len(out) == len(users) {
			return out, nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("reading tokens: %w", err)
	}
	out := map[string]string{}
	var b strings.Builder
	for _, user := range users {
		random := make([]byte, 20)
		_, _ = rand.Read(random) // never fails
		out[user] = hex.EncodeToString(random)
		fmt.Fprintf(&b, "%s,%s,%s,system:masters\n", out[user], user, user)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return nil, fmt.Errorf("writing tokens: %w", err)
	}
	return out, nil
}

// parseTokens reads lines of the form token,user,uid,groups and ignores unknown users.
func parseTokens(data string) map[string]string {
	known := map[string]bool{}
	for _, u := range users {
		known[u] = true
	}
	out := map[string]string{}
	for line := range strings.Lines(data) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) == 4 && f[0] != "" && known[f[1]] {
			out[f[1]] = f[0]
		}
	}
	return out
}

// privateKey creates a key if it does not exist. It is kept, because signatures such as ServiceAccount tokens must stay valid
// after a restart.
func privateKey(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generating key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding key: %w", err)
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("writing key: %w", err)
	}
	return nil
}

// kubeletClient creates a key and a self-signed certificate, with which the API server authenticates to kubelets, if they do not
// exist.
func kubeletClient(certPath, keyPath string) error {
	if _, err := os.Stat(certPath); err == nil {
		return nil
	}
	if err := privateKey(keyPath); err != nil {
		return err
	}
	key, err := keyutil.PrivateKeyFromFile(keyPath)
	if err != nil {
		return fmt.Errorf("reading key for kubelets: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return fmt.Errorf("reading key for kubelets: %T cannot sign", key)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "kube-apiserver"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, signer.Public(), signer)
	if err != nil {
		return fmt.Errorf("signing certificate for kubelets: %w", err)
	}
	if err := os.WriteFile(certPath, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("writing certificate for kubelets: %w", err)
	}
	return nil
}

// writeKubeconfig writes a kubeconfig for one user. It replaces the file atomically.
func writeKubeconfig(path, server string, ca []byte, user, token string) error {
	const name = "raygate-local"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	cfg.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user, Namespace: "default"}
	cfg.CurrentContext = name
	data, err := clientcmd.Write(*cfg)
	if err != nil {
		return fmt.Errorf("encoding kubeconfig: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".kubeconfig-*") // mode 0600
	if err != nil {
		return fmt.Errorf("writing kubeconfig: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, werr := tmp.Write(data)
	if err := errors.Join(werr, tmp.Close()); err != nil {
		return fmt.Errorf("writing kubeconfig: %w", err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("writing kubeconfig: %w", err)
	}
	return nil
}
