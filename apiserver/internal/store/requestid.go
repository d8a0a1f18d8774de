package store

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// requestIDLife is how long a request_id is remembered.
const requestIDLife = 24 * time.Hour

// requestKey identifies a create: a request_id means something within a namespace only.
type requestKey struct{ namespace, id string }

func requestKeyOf(obj metav1.Object) (requestKey, bool) {
	id := obj.GetAnnotations()[rayv1.AnnotationRequestID]
	return requestKey{namespace: obj.GetNamespace(), id: id}, id != ""
}

// bodyHash hashes the body of the client. The caller has removed the fields that the server owns.
func bodyHash(obj any) (string, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return "", fmt.Errorf("hashing the request: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), nil
}

// generatedName makes from a generateName the name that every repetition of the request makes as well. It is longer than the five
// random characters of Kubernetes, because a clash would not be tried again.
func generatedName(prefix string, k requestKey, maxLength int) string {
	sum := sha256.Sum256([]byte(k.namespace + "\x00" + k.id))
	suffix := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:10]
	if room := maxLength - len(suffix); len(prefix) > room {
		prefix = prefix[:max(room, 0)]
	}
	return prefix + suffix
}
