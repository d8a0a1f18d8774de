package rpcstatus

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// backendRetry is the hint when the API server gives none.
const backendRetry = time.Second

var (
	// admissionDenial matches the API server's message about a refusal by a webhook or a policy, with any HTTP status.
	admissionDenial = regexp.MustCompile(`^admission webhook ".*" denied the request|is forbidden: ValidatingAdmissionPolicy '.*' with binding '.*' denied request`)
	// failedWebhook matches its message about a webhook that does not answer.
	failedWebhook = regexp.MustCompile(`failed calling webhook "[^"]*"`)
)

// kubernetesProblem translates errors of the API server; nil for any other err.
func kubernetesProblem(err error) *problem { //nolint:gocyclo // a table: one case per row
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return nil
	}
	st := api.Status()
	p := &problem{Error: Error{Message: strings.TrimSpace(st.Message)}, resource: resourceInfo(st.Details)}
	if st.Details != nil && st.Details.RetryAfterSeconds > 0 {
		p.RetryAfter = time.Duration(st.Details.RetryAfterSeconds) * time.Second
	}
	switch {
	case apierrors.IsInvalid(err):
		p.Code, p.Reason, p.violations = codes.InvalidArgument, "INVALID_SPEC", causes(st.Details)
	case apierrors.IsRequestEntityTooLargeError(err), strings.Contains(st.Message, "etcdserver: request is too large"):
		p.Code, p.Reason = codes.ResourceExhausted, "TOO_LARGE"
	case apierrors.IsUnauthorized(err):
		p.Code, p.Reason, p.Message = codes.Unauthenticated, "UNAUTHENTICATED", "Kubernetes does not accept the token: it is unknown or has expired"
	case apierrors.IsForbidden(err) && strings.Contains(st.Message, "exceeded quota"):
		p.Code, p.Reason = codes.ResourceExhausted, "QUOTA_EXCEEDED"
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		p.Code, p.Reason = codes.FailedPrecondition, "NAMESPACE_TERMINATING"
	case apierrors.IsForbidden(err) && admissionDenial.MatchString(st.Message): // the object is at fault and not the caller
		p.Code, p.Reason, p.violations = codes.InvalidArgument, "INVALID_SPEC", causes(st.Details)
	case apierrors.IsForbidden(err):
		p.Code, p.Reason = codes.PermissionDenied, "FORBIDDEN"
	case apierrors.IsNotFound(err) && st.Details != nil && st.Details.Kind == "namespaces":
		p.Code, p.Reason = codes.NotFound, "NAMESPACE_NOT_FOUND"
	case apierrors.IsNotFound(err):
		p.Code, p.Reason = codes.NotFound, "NOT_FOUND"
	case apierrors.IsAlreadyExists(err):
		p.Code, p.Reason = codes.AlreadyExists, "ALREADY_EXISTS"
	case apierrors.IsConflict(err):
		p.Code, p.Reason = codes.Aborted, "CONFLICT"
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		p.Code, p.Reason = codes.InvalidArgument, "EXPIRED"
	case apierrors.IsTooManyRequests(err):
		p.Code, p.Reason = codes.ResourceExhausted, "TOO_MANY_REQUESTS"
		p.RetryAfter = max(p.RetryAfter, backendRetry)
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), apierrors.IsServiceUnavailable(err), st.Code >= 500:
		// A failing webhook is a 500, too. The client cannot fix it, but it may pass.
		p.Code, p.Reason = codes.Unavailable, "BACKEND_UNAVAILABLE"
		p.RetryAfter = max(p.RetryAfter, backendRetry)
		if webhook := failedWebhook.FindString(st.Message); webhook != "" {
			p.Message = "Kubernetes has " + webhook // the rest contains addresses
		}
	case apierrors.IsBadRequest(err), st.Code == http.StatusUnprocessableEntity, st.Code == http.StatusUnsupportedMediaType:
		p.Code, p.Reason, p.violations = codes.InvalidArgument, "INVALID_SPEC", causes(st.Details)
	case st.Code == http.StatusMethodNotAllowed:
		p.Code, p.Reason = codes.Unimplemented, "METHOD_NOT_SUPPORTED"
	case st.Code >= 400:
		p.Code, p.Reason = codes.FailedPrecondition, "REFUSED"
	default:
		return nil
	}
	return p
}

func causes(d *metav1.StatusDetails) []Violation {
	if d == nil {
		return nil
	}
	var all []Violation
	for _, c := range d.Causes {
		field := c.Field
		if field == "<nil>" || field == "object" { // a CEL rule on the whole object has no path of its own
			field = ""
		}
		lead, rest, _ := strings.Cut(c.Message, ": ")
		problems := brokenRule.FindAllStringSubmatch(rest, -1)
		for _, p := range problems {
			all = append(all, Violation{Field: p[1], Description: lead + ": " + p[2], Reason: string(c.Type)})
		}
		if len(problems) == 0 {
			all = append(all, Violation{Field: field, Description: c.Message, Reason: string(c.Type)})
		}
	}
	return all
}

// brokenRule matches a CRD's message about one rule among those that share an expression. The cause has their common field then.
var brokenRule = regexp.MustCompile(`(?:^|; )(spec\.[^ ]+): (.+? \([A-Z]{2}-[0-9]{3}\))`)

func resourceInfo(d *metav1.StatusDetails) *errdetails.ResourceInfo {
	if d == nil || (d.Name == "" && d.Kind == "") {
		return nil
	}
	kind := d.Kind
	if d.Group != "" && kind != "" {
		kind = d.Group + "/" + kind
	}
	return &errdetails.ResourceInfo{ResourceType: kind, ResourceName: d.Name}
}

// networkProblem translates failures to reach the API server. The address stays out of the text.
func networkProblem(err error) *problem {
	var opErr *net.OpError
	var dnsErr *net.DNSError
	var urlErr *url.Error // net/http's error without an answer
	if errors.As(err, &opErr) || errors.As(err, &dnsErr) || errors.As(err, &urlErr) || utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) ||
		utilnet.IsHTTP2ConnectionLost(err) || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsProbableEOF(err) {
		return &problem{Error: Error{Code: codes.Unavailable, Reason: "BACKEND_UNAVAILABLE", Message: "the Kubernetes API server cannot be reached", RetryAfter: backendRetry}}
	}
	return nil
}
