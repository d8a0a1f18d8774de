package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"google.golang.org/grpc/codes"

	raygate "github.com/raygate/raygate/clients/go"
)

// remedies are the remedies for errors, by reason and else by code.
var remedies = map[string]string{
	"REQUEST_ID_REUSED":              "use a request id once",
	"CONFLICT":                       "somebody else changed the object or owns a field: read it again; apply has --force-conflicts",
	"QUOTA_EXCEEDED":                 "free some of the namespace's quota, or ask for more",
	"KIND_NOT_INSTALLED":             "install the CustomResourceDefinitions of raygate",
	"NAMESPACE_NOT_FOUND":            "create the namespace, or name another with -n",
	"WRONG_STATE":                    "",
	"WAIT_TIMEOUT":                   "", // the command explains the object's state
	codeName(codes.NotFound):         "look at what there is with `raygate get`, in other namespaces with -A",
	codeName(codes.Unauthenticated):  "give a token that Kubernetes accepts: --token, --token-file or --kubeconfig",
	codeName(codes.PermissionDenied): "ask for a Role that allows it; the gateway acts with your rights",
	codeName(codes.Unavailable):      "check --server, and that the gateway runs (`make up` for a local one)",
	codeName(codes.Unimplemented):    "the gateway is older than this program, or does not offer this",
	codeName(codes.DeadlineExceeded): "give it more time by --request-timeout; if nothing ever answers, check --server",
}

func codeName(c codes.Code) string { return "code " + c.String() }

// Problem prints all of an error of a call: what is wrong, where, and what to do.
func Problem(w io.Writer, about string, err error, hint string) {
	p := raygate.ProblemOf(err)
	if p.Code == codes.Unknown && p.Reason == "" {
		fmt.Fprintf(w, "Error: %s: %s\n", about, Clean(err.Error()))
		return
	}
	fmt.Fprintf(w, "Error (%s): %s: %s\n", cmp.Or(p.Reason, p.Code.String()), about, headOf(p))
	if len(p.Violations) > 1 {
		for _, v := range p.Violations {
			fmt.Fprintf(w, "  %s\n", violationText(v))
		}
	}
	for _, text := range p.Preconditions {
		fmt.Fprintf(w, "  %s\n", Clean(text))
	}
	if remedy := cmp.Or(hint, remedyOf(p)); remedy != "" {
		fmt.Fprintf(w, "  remedy: %s\n", remedy)
	}
	if p.RetryAfter > 0 {
		fmt.Fprintf(w, "  try again in %s\n", p.RetryAfter.Round(time.Second/10))
	}
	if p.RequestID != "" && (p.Code == codes.Internal || p.Code == codes.Unavailable) {
		fmt.Fprintf(w, "  request id: %s\n", p.RequestID)
	}
}

// headOf returns the first line of a problem: its only violation, or how many there are.
func headOf(p *raygate.Problem) string {
	switch n := len(p.Violations); n {
	case 0:
		return Clean(p.Message)
	case 1:
		return violationText(p.Violations[0])
	default:
		return fmt.Sprintf("%d problems", n) // the message repeats them, cut short
	}
}

// remedyOf returns the remedy for a problem; empty if it is unknown.
func remedyOf(p *raygate.Problem) string {
	if remedy, found := remedies[p.Reason]; found {
		return remedy
	}
	return remedies[codeName(p.Code)]
}

func violationText(v raygate.Violation) string {
	text := v.Description
	if v.Field != "" {
		text = v.Field + ": " + text
	}
	// Reasons in capitals only repeat the line; ids of rules are useful to look up.
	if v.Rule != "" && strings.Contains(v.Rule, "-") {
		text += " [" + v.Rule + "]"
	}
	return Clean(text)
}

// Diagnosis prints why an object is not ready.
func Diagnosis(w io.Writer, about string, d *raygate.Diagnosis) {
	switch {
	case len(d.Findings) == 0 && d.Ready:
		fmt.Fprintf(w, "%s is ready; nothing is wrong\n", about)
		return
	case len(d.Findings) == 0:
		fmt.Fprintf(w, "%s is not ready, and nothing says why\n", about)
		return
	case d.Ready:
		fmt.Fprintf(w, "%s is ready, but:\n", about)
	default:
		fmt.Fprintf(w, "%s is not ready:\n", about)
	}
	for _, f := range d.Findings {
		fmt.Fprintf(w, "  %s %s", f.GetSeverity(), f.GetReason())
		if o := f.GetObject(); o.GetName() != "" {
			fmt.Fprintf(w, " (%s %s)", o.GetKind(), o.GetName())
		}
		fmt.Fprintf(w, ": %s\n", indent(f.GetMessage()))
		if f.GetRemedy() != "" {
			fmt.Fprintf(w, "    remedy: %s\n", indent(f.GetRemedy()))
		}
	}
}

// Clean makes an untrusted text safe for a terminal: it removes characters that would move the cursor or change colours.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}

// indent cleans a text and keeps the lines of a text below its first.
func indent(text string) string {
	return strings.ReplaceAll(strings.TrimRight(Clean(text), "\n"), "\n", "\n      ")
}
