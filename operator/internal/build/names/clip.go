package names

import (
	"unicode"
	"unicode/utf8"
)

const (
	maxName       = 50 // leaves room for the suffixes that Kubernetes and the operator add
	maxLabelValue = 63
	maxPodPrefix  = 50
	maxRouteHost  = 51 // Route name and namespace share one DNS label of the host name
)

// Name clips s to 50 characters for the name of an object, as KubeRay 1.7 does. It keeps the last characters, because children
// differ in their suffix. A first character that is a digit or punctuation becomes "r".
func Name(s string) string {
	s = keepLast(s, maxName)
	if first, size := utf8.DecodeRuneInString(s); size > 0 && unicode.IsDigit(first) {
		s = "r" + s[size:]
	}
	return fixPunctuation(s)
}

// LabelValue clips s to 63 characters for a label value or the name of a Job. It keeps the last characters. A first character that
// is punctuation becomes "r".
func LabelValue(s string) string {
	return fixPunctuation(keepLast(s, maxLabelValue))
}

func fixPunctuation(s string) string {
	if first, size := utf8.DecodeRuneInString(s); size > 0 && unicode.IsPunct(first) {
		return "r" + s[size:]
	}
	return s
}

func keepLast(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[len(r)-n:])
}

func keepFirst(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:max(n, 0)])
}
