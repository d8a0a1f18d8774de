package controlplane

import (
	"context"
	"fmt"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// KubeconfigOf writes a kubeconfig of a ServiceAccount that exists into a folder, and returns its path. Its token lives as long as any test.
func (e *Env) KubeconfigOf(ctx context.Context, folder, namespace, serviceAccount string) (string, error) {
	core, err := kubernetes.NewForConfig(e.Config)
	if err != nil {
		return "", fmt.Errorf("making a client: %w", err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(86400))}}
	token, err := core.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("asking for a token of %s/%s: %w", namespace, serviceAccount, err)
	}
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["c"] = &clientcmdapi.Cluster{Server: e.Server, CertificateAuthorityData: e.Config.CAData, CertificateAuthority: e.Config.CAFile}
	kubeconfig.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	kubeconfig.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	kubeconfig.CurrentContext = "x"
	path := filepath.Join(folder, namespace+"-"+serviceAccount+".kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		return "", fmt.Errorf("writing kubeconfig: %w", err)
	}
	return path, nil
}
