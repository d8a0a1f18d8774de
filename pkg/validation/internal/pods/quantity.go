package pods

import (
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
)

// maxQuantityText bounds the work of the quantity parser, whose time grows faster than its input.
const maxQuantityText = 64

// hugeExponent is in texts such as 1e-999999999, for which the parser would take hours. The schema of the CRDs and the
// gateway refuse them too.
var hugeExponent = regexp.MustCompile(`[eE][+-]?[0-9.]{4}`)

// ParseQuantity reads a quantity, but no text for which the parser would take long.
func ParseQuantity(text string) (resource.Quantity, error) {
	if len(text) > maxQuantityText || hugeExponent.MatchString(text) {
		return resource.Quantity{}, resource.ErrFormatWrong
	}
	return resource.ParseQuantity(text)
}
