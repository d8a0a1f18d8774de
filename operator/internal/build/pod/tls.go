package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// Paths of Ray's certificate.
const (
	tlsCertificate = rayv1.VolumeTLSPath + "/tls.crt"
	tlsKey         = rayv1.VolumeTLSPath + "/tls.key"
	tlsAuthorities = rayv1.VolumeTLSPath + "/ca.crt"
)

func (n *node) tls() bool { return n.o.MTLS && cert.Needed(n.rc) }

func tlsMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: rayv1.VolumeTLS, MountPath: rayv1.VolumeTLSPath, ReadOnly: true}
}

// addTLS makes the Ray processes in the containers, of which some may be nil, require mutual TLS. It does not overwrite existing
// values.
func (n *node) addTLS(s *corev1.PodSpec, containers ...*corev1.Container) {
	if !n.tls() {
		return
	}
	for _, c := range containers {
		if c == nil {
			continue
		}
		env := environment{&c.Env}
		env.setDefault(text("RAY_USE_TLS", "1"))
		env.setDefault(text("RAY_TLS_SERVER_CERT", tlsCertificate))
		env.setDefault(text("RAY_TLS_SERVER_KEY", tlsKey))
		env.setDefault(text("RAY_TLS_CA_CERT", tlsAuthorities))
		addMount(c, tlsMount())
	}
	secret := names.WorkerTLSSecret(n.rc.Name)
	if n.isHead() {
		secret = names.HeadTLSSecret(n.rc.Name)
	}
	addVolume(s, rayv1.VolumeTLS, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}})
}

// newCertificateWait returns the init container that delays the Pod until its IP is in the mounted certificate. The IP is known
// only after the Pod exists, and Ray reads the certificate only once. It is the first init container, because those of the user
// may connect to the head. It returns nil without TLS.
func (n *node) newCertificateWait(ray *corev1.Container) *corev1.Container {
	if !n.tls() {
		return nil
	}
	return &corev1.Container{
		Name:            rayv1.ContainerWaitTLS,
		Image:           ray.Image,
		ImagePullPolicy: ray.ImagePullPolicy,
		Command:         []string{"sh", "-c", certificateScript(tlsCertificate)},
		SecurityContext: ray.SecurityContext.DeepCopy(),
		Env:             []corev1.EnvVar{field("POD_IP", "status.podIP")},
		VolumeMounts:    []corev1.VolumeMount{tlsMount()},
		Resources:       FixedResources("50m", "64Mi"),
	}
}

// certificateScript uses openssl instead of a text comparison, because an IPv6 address has several spellings. openssl reports a
// match for text that is not an address.
func certificateScript(certificate string) string {
	return fmt.Sprintf(`
if ! command -v openssl > /dev/null; then
  echo "The image has no openssl, which is needed to look into the certificate. Use an image with openssl, or turn spec.tlsOptions off." >&2
  exit 1
fi
ip="${POD_IP:-$(hostname -i | cut -d ' ' -f 1)}"
if [ -z "$ip" ]; then
  echo "The address of this Pod is not known." >&2
  exit 1
fi
until openssl x509 -in %[1]s -noout -checkip "$ip" 2> /dev/null | grep -q 'does match'; do
  echo "Waiting for the address $ip to be in the certificate %[1]s."
  sleep 5
done
echo "The address $ip is in the certificate."
`, certificate)
}
