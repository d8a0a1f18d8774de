package mtls

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ready reports whether the Certificate is as its spec says.
func ready(c *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(c.Object, "status", "conditions")
	for _, item := range conditions {
		condition, ok := item.(map[string]any)
		if !ok || condition["type"] != "Ready" || condition["status"] != "True" {
			continue
		}
		observed, _, _ := unstructured.NestedInt64(condition, "observedGeneration")
		return observed == c.GetGeneration()
	}
	return false
}

// issued reports whether there is a key pair, of whatever age.
func issued(c *unstructured.Unstructured) bool {
	_, ok := notAfter(c)
	return ok || ready(c)
}

// revision is how often the certificate was issued.
func revision(c *unstructured.Unstructured) string {
	n, _, _ := unstructured.NestedInt64(c.Object, "status", "revision")
	return strconv.FormatInt(n, 10)
}

// notAfter is the end of the certificate that was issued last.
func notAfter(c *unstructured.Unstructured) (time.Time, bool) {
	text, _, _ := unstructured.NestedString(c.Object, "status", "notAfter")
	t, err := time.Parse(time.RFC3339, text)
	return t, err == nil
}
