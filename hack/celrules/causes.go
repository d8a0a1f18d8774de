package celrules

import (
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Causes splits the causes of rules that share an expression, so that each rule has its own cause with its field.
func Causes(causes []metav1.StatusCause) []metav1.StatusCause {
	var all []metav1.StatusCause
	for _, c := range causes {
		lead, rest, _ := strings.Cut(c.Message, ": ")
		problems := problem.FindAllStringSubmatch(rest, -1)
		for _, p := range problems {
			all = append(all, metav1.StatusCause{Type: c.Type, Field: p[1], Message: lead + ": " + p[2]})
		}
		if len(problems) == 0 {
			all = append(all, c)
		}
	}
	return all
}

// problem matches the message of one rule among those that share an expression. The fields of other messages are below a group.
var problem = regexp.MustCompile(`(?:^|; )(spec[^ ]*): (.+? \([A-Z]{2}-[0-9]{3}\))`)
