package rpcstatus

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
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

// kubernetesRow is the translation of an error of the API server.
type kubernetesRow struct {
	applies kubernetesTest
	code    codes.Code
	reason  string
}

// kubernetesRows are all errors; the first row that applies decides.
var kubernetesRows = []kubernetesRow{
	{is(apierrors.IsInvalid), codes.InvalidArgument, "INVALID_SPEC"},
	{is(apierrors.IsRequestEntityTooLargeError), codes.ResourceExhausted, "TOO_LARGE"},
	{says("etcdserver: request is too large"), codes.ResourceExhausted, "TOO_LARGE"},
	{is(apierrors.IsUnauthorized), codes.Unauthenticated, "UNAUTHENTICATED"},
	{both(is(apierrors.IsForbidden), says("exceeded quota")), codes.ResourceExhausted, "QUOTA_EXCEEDED"},
	{isTerminating, codes.FailedPrecondition, "NAMESPACE_TERMINATING"},
	{both(is(apierrors.IsForbidden), isDenial), codes.InvalidArgument, "INVALID_SPEC"}, // the object is at fault and not the caller
	{is(apierrors.IsForbidden), codes.PermissionDenied, "FORBIDDEN"},
	{both(is(apierrors.IsNotFound), isOfNamespace), codes.NotFound, "NAMESPACE_NOT_FOUND"},
	{is(apierrors.IsNotFound), codes.NotFound, "NOT_FOUND"},
	{is(apierrors.IsAlreadyExists), codes.AlreadyExists, "ALREADY_EXISTS"},
	{is(apierrors.IsConflict), codes.Aborted, "CONFLICT"},
	{is(apierrors.IsResourceExpired, apierrors.IsGone), codes.InvalidArgument, "EXPIRED"},
	{is(apierrors.IsTooManyRequests), codes.ResourceExhausted, "TOO_MANY_REQUESTS"},
	// A failing webhook is a 500, too. The client cannot fix it, but it may pass.
	{is(apierrors.IsTimeout, apierrors.IsServerTimeout, apierrors.IsServiceUnavailable), codes.Unavailable, "BACKEND_UNAVAILABLE"},
	{atLeast(http.StatusInternalServerError), codes.Unavailable, "BACKEND_UNAVAILABLE"},
	{is(apierrors.IsBadRequest), codes.InvalidArgument, "INVALID_SPEC"},
	{hasCode(http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType), codes.InvalidArgument, "INVALID_SPEC"},
	{hasCode(http.StatusMethodNotAllowed), codes.Unimplemented, "METHOD_NOT_SUPPORTED"},
	{atLeast(http.StatusBadRequest), codes.FailedPrecondition, "REFUSED"},
}

type kubernetesTest func(err error, st *metav1.Status) bool

func is(tests ...func(error) bool) kubernetesTest {
	return func(err error, _ *metav1.Status) bool {
		return slices.ContainsFunc(tests, func(test func(error) bool) bool { return test(err) })
	}
}

func both(a, b kubernetesTest) kubernetesTest {
	return func(err error, st *metav1.Status) bool { return a(err, st) && b(err, st) }
}

func says(text string) kubernetesTest {
	return func(_ error, st *metav1.Status) bool { return strings.Contains(st.Message, text) }
}

func hasCode(all ...int32) kubernetesTest {
	return func(_ error, st *metav1.Status) bool { return slices.Contains(all, st.Code) }
}

func atLeast(code int32) kubernetesTest {
	return func(_ error, st *metav1.Status) bool { return st.Code >= code }
}

func isDenial(_ error, st *metav1.Status) bool { return admissionDenial.MatchString(st.Message) }

func isTerminating(err error, _ *metav1.Status) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

func isOfNamespace(_ error, st *metav1.Status) bool {
	return st.Details != nil && st.Details.Kind == "namespaces"
}

// kubernetesProblem translates errors of the API server; nil for any other err.
func kubernetesProblem(err error) *problem {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return nil
	}
	st := api.Status()
	at := slices.IndexFunc(kubernetesRows, func(row kubernetesRow) bool { return row.applies(err, &st) })
	if at < 0 {
		return nil
	}
	row := &kubernetesRows[at]
	p := &problem{Error: Error{Code: row.code, Reason: row.reason, Message: strings.TrimSpace(st.Message)}, resource: resourceInfo(st.Details)}
	if st.Details != nil && st.Details.RetryAfterSeconds > 0 {
		p.RetryAfter = time.Duration(st.Details.RetryAfterSeconds) * time.Second
	}
	switch row.reason {
	case "INVALID_SPEC":
		p.violations = causes(st.Details)
	case "UNAUTHENTICATED":
		p.Message = "Kubernetes does not accept the token: it is unknown or has expired"
	case "TOO_MANY_REQUESTS":
		p.RetryAfter = max(p.RetryAfter, backendRetry)
	case "BACKEND_UNAVAILABLE":
		p.RetryAfter = max(p.RetryAfter, backendRetry)
		if webhook := failedWebhook.FindString(st.Message); webhook != "" {
			p.Message = "Kubernetes has " + webhook // the rest contains addresses
		}
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
		reason := string(c.Type)
		lead, rest, _ := strings.Cut(c.Message, ": ")
		if policyDenial.MatchString(lead) {
			lead, reason = "Invalid value", string(metav1.CauseTypeFieldValueInvalid)
		}
		problems := brokenRule.FindAllStringSubmatch(rest, -1)
		for _, p := range problems {
			all = append(all, Violation{Field: p[1], Description: lead + ": " + p[2], Reason: reason})
		}
		if len(problems) == 0 {
			all = append(all, Violation{Field: field, Description: c.Message, Reason: string(c.Type)})
		}
	}
	return all
}

// brokenRule matches the message about one rule among those that share an expression. The cause of a CRD has their common field, that of a policy none.
var brokenRule = regexp.MustCompile(`(?:^|; )(spec[^ ]*): (.+? \([A-Z]{2}-[0-9]{3}\))`)

// policyDenial is how a ValidatingAdmissionPolicy begins its message. The cause has no type.
var policyDenial = regexp.MustCompile(`^ValidatingAdmissionPolicy '[^']+' with binding '[^']+' denied request$`)

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
