package controlplane

import (
	"encoding/json"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverv1beta1 "k8s.io/apiserver/pkg/apis/apiserver/v1beta1"
)

// writeEgress writes the configuration that sends the API server's connections to the cluster through a socket. It does nothing
// without a socket.
func writeEgress(l layout, socket string) error {
	if socket == "" {
		return nil
	}
	cfg := apiserverv1beta1.EgressSelectorConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: apiserverv1beta1.SchemeGroupVersion.String(), Kind: "EgressSelectorConfiguration"},
		EgressSelections: []apiserverv1beta1.EgressSelection{{
			Name: "cluster",
			Connection: apiserverv1beta1.Connection{
				ProxyProtocol: apiserverv1beta1.ProtocolHTTPConnect,
				Transport:     &apiserverv1beta1.Transport{UDS: &apiserverv1beta1.UDSTransport{UDSName: socket}},
			},
		}},
	}
	data, err := json.MarshalIndent(cfg, "", "  ") // JSON is valid YAML
	if err != nil {
		return fmt.Errorf("encoding egress configuration: %w", err)
	}
	if err := os.WriteFile(l.egress(), data, 0o600); err != nil {
		return fmt.Errorf("writing egress configuration: %w", err)
	}
	return nil
}
