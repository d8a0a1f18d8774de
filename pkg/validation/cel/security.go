package cel

import "github.com/raygate/raygate/pkg/validation/rule"

// TokenNeeds is the message of the rules on versions for authentication by token.
var TokenNeeds = NeedsVersion("authOptions.mode token", "2.52.0")

// TLSNames are the variables by which Ray finds its certificates.
const TLSNames = "['RAY_USE_TLS', 'RAY_TLS_SERVER_CERT', 'RAY_TLS_SERVER_KEY', 'RAY_TLS_CA_CERT']"

// Messages about names that TLS needs.
const (
	TLSVariables = "RAY_USE_TLS, RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY and RAY_TLS_CA_CERT are set by the operator with tlsOptions.enabled; remove them"
	TLSMountName = "the operator mounts ray-tls with tlsOptions.enabled; remove it"
	TLSMountPath = "the operator mounts its certificates at /etc/ray/tls; use another path"
)

// TLSOnHead keeps free on the head what TLS needs.
func TLSOnHead(broken, says string) rule.CEL {
	return rule.CEL{Field: ContainersField, Reason: rule.Forbidden,
		Valid:    "!" + TLSOn + " || !" + broken,
		Says:     says,
		OwnWords: says == TLSVariables}
}

// TLSOnAutoscaler keeps free on the autoscaler what TLS needs.
func TLSOnAutoscaler(list, broken, says string) rule.CEL {
	return rule.CEL{Field: ".autoscalerOptions." + list, Reason: rule.Forbidden,
		Valid:    "!" + TLSOn + " || !(" + Present("self", "autoscalerOptions."+list) + ") || !self.autoscalerOptions." + list + ".exists(x, " + broken + ")",
		Says:     says,
		OwnWords: says == TLSVariables}
}
