package rpcstatus

import (
	"context"
	"errors"
	"fmt"
	"google.golang.org/protobuf/proto"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var errRow = errors.New("a row")

func TestStatus(t *testing.T) {
	gr := schema.GroupResource{Group: "ray.io", Resource: "rayclusters"}
	gk := schema.GroupKind{Group: "ray.io", Kind: "RayCluster"}
	invalid := apierrors.NewInvalid(gk, "x", field.ErrorList{field.Required(field.NewPath("spec", "headGroupSpec"), "")})
	type want struct {
		Code   codes.Code
		Reason string
		Fields []string
		Retry  bool
	}
	for name, tc := range map[string]struct {
		err  error
		want want
	}{
		"row":                  {fmt.Errorf("wrapped: %w", errRow), want{codes.Aborted, "ROW", []string{"a_field"}, false}},
		"invalid of ours":      {Invalid([]Violation{{Field: "a", Description: "b"}, {Field: "c"}}), want{codes.InvalidArgument, "INVALID_SPEC", []string{"a", "c"}, false}},
		"bad field":            {BadField("name", "required"), want{codes.InvalidArgument, "INVALID_ARGUMENT", []string{"name"}, false}},
		"own":                  {&Error{Code: codes.NotFound, Reason: "X"}, want{codes.NotFound, "X", nil, false}},
		"cancelled":            {fmt.Errorf("x: %w", context.Canceled), want{codes.Canceled, "CANCELLED", nil, false}},
		"deadline":             {&url.Error{Err: context.DeadlineExceeded}, want{codes.DeadlineExceeded, "DEADLINE_EXCEEDED", nil, false}},
		"kube invalid":         {invalid, want{codes.InvalidArgument, "INVALID_SPEC", []string{"spec.headGroupSpec"}, false}},
		"kube bad request":     {apierrors.NewBadRequest("strict decoding error"), want{codes.InvalidArgument, "INVALID_SPEC", nil, false}},
		"kube not found":       {apierrors.NewNotFound(gr, "x"), want{codes.NotFound, "NOT_FOUND", nil, false}},
		"namespace not found":  {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "x"), want{codes.NotFound, "NAMESPACE_NOT_FOUND", nil, false}},
		"kube exists":          {apierrors.NewAlreadyExists(gr, "x"), want{codes.AlreadyExists, "ALREADY_EXISTS", nil, false}},
		"kube conflict":        {apierrors.NewConflict(gr, "x", errors.New("changed")), want{codes.Aborted, "CONFLICT", nil, false}},
		"kube forbidden":       {apierrors.NewForbidden(gr, "x", errors.New("no")), want{codes.PermissionDenied, "FORBIDDEN", nil, false}},
		"webhook denies":       {denied(403, metav1.StatusReasonForbidden, `admission webhook "v.example.org" denied the request: no GPUs on Fridays`), want{codes.InvalidArgument, "INVALID_SPEC", nil, false}},
		"policy denies":        {apierrors.NewForbidden(gr, "x", errors.New("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no")), want{codes.InvalidArgument, "INVALID_SPEC", nil, false}},
		"quota by a webhook":   {denied(403, metav1.StatusReasonForbidden, `admission webhook "v.example.org" denied the request: exceeded quota: q`), want{codes.ResourceExhausted, "QUOTA_EXCEEDED", nil, false}},
		"webhook unreachable":  {apierrors.NewInternalError(errors.New(`failed calling webhook "v.example.org": failed to call webhook: Post "https://hook.secret-ns.svc:443/x?timeout=10s": dial tcp 10.0.0.1:443: connect: connection refused`)), want{codes.Unavailable, "BACKEND_UNAVAILABLE", nil, true}},
		"quota":                {apierrors.NewForbidden(gr, "x", errors.New("exceeded quota: q, requested: 1")), want{codes.ResourceExhausted, "QUOTA_EXCEEDED", nil, false}},
		"kube unauthorized":    {apierrors.NewUnauthorized("x"), want{codes.Unauthenticated, "UNAUTHENTICATED", nil, false}},
		"kube too many":        {apierrors.NewTooManyRequests("slow down", 3), want{codes.ResourceExhausted, "TOO_MANY_REQUESTS", nil, true}},
		"kube server timeout":  {apierrors.NewServerTimeout(gr, "get", 1), want{codes.Unavailable, "BACKEND_UNAVAILABLE", nil, true}},
		"kube timeout":         {apierrors.NewTimeoutError("x", 1), want{codes.Unavailable, "BACKEND_UNAVAILABLE", nil, true}},
		"kube unavailable":     {apierrors.NewServiceUnavailable("x"), want{codes.Unavailable, "BACKEND_UNAVAILABLE", nil, true}},
		"webhook down":         {apierrors.NewInternalError(errors.New("failed calling webhook")), want{codes.Unavailable, "BACKEND_UNAVAILABLE", nil, true}},
		"rules of one guard":   {refused(metav1.StatusCause{Type: "FieldValueInvalid", Field: "spec", Message: "Invalid value: spec.a.b: is wrong; mend it (RC-001); spec.c[d]: use e (RC-002)"}), want{codes.InvalidArgument, "INVALID_SPEC", []string{"spec.a.b", "spec.c[d]"}, false}},
		"policy on updates":    {refused(metav1.StatusCause{Message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: spec: give a cluster (RC-581); spec.a.b: is wrong (RC-001)"}), want{codes.InvalidArgument, "INVALID_SPEC", []string{"spec", "spec.a.b"}, false}},
		"rule on groups":       {refused(metav1.StatusCause{Type: "FieldValueInvalid", Field: "spec.workerGroupSpecs", Message: "Invalid value: template.spec.a: is wrong (RC-003)"}), want{codes.InvalidArgument, "INVALID_SPEC", []string{"spec.workerGroupSpecs"}, false}},
		"kube too large":       {apierrors.NewRequestEntityTooLargeError("x"), want{codes.ResourceExhausted, "TOO_LARGE", nil, false}},
		"etcd too large":       {apierrors.NewInternalError(errors.New("etcdserver: request is too large")), want{codes.ResourceExhausted, "TOO_LARGE", nil, false}},
		"kube expired":         {apierrors.NewResourceExpired("x"), want{codes.InvalidArgument, "EXPIRED", nil, false}},
		"kube method":          {apierrors.NewMethodNotSupported(gr, "x"), want{codes.Unimplemented, "METHOD_NOT_SUPPORTED", nil, false}},
		"kube teapot":          {apierrors.NewGenericServerResponse(http.StatusTeapot, "get", gr, "x", "", 0, false), want{codes.FailedPrecondition, "REFUSED", nil, false}},
		"namespace terminates": {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Reason: metav1.StatusReasonForbidden, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "NamespaceTerminating"}}}}}, want{codes.FailedPrecondition, "NAMESPACE_TERMINATING", nil, false}},
		"connection refused":   {&url.Error{Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, want{codes.Unavailable, "BACKEND_UNAVAILABLE", nil, true}},
		"connection lost":      {io.ErrUnexpectedEOF, want{codes.Unavailable, "BACKEND_UNAVAILABLE", nil, true}},
		"grpc itself":          {status.Error(codes.ResourceExhausted, "message too large"), want{codes.ResourceExhausted, "RESOURCE_EXHAUSTED", nil, false}},
		"a bug":                {errors.New("secret 10.0.0.1"), want{codes.Internal, "INTERNAL", nil, false}},
		"invalid UTF-8":        {BadField("a\xff", "b\xff"), want{codes.InvalidArgument, "INVALID_ARGUMENT", []string{"a\uFFFD"}, false}},
	} {
		t.Run(name, func(t *testing.T) {
			st, masked := NewTable(Row{Err: errRow, Code: codes.Aborted, Reason: "ROW", Field: "a_field"}).Status(tc.err, "id-1")
			got := want{Code: st.Code()}
			var requestID string
			for _, d := range st.Details() {
				switch d := d.(type) {
				case *errdetails.ErrorInfo:
					got.Reason = d.GetReason()
					if d.GetDomain() != Domain {
						t.Errorf("domain %q", d.GetDomain())
					}
				case *errdetails.BadRequest:
					for _, v := range d.GetFieldViolations() {
						got.Fields = append(got.Fields, v.GetField())
					}
				case *errdetails.RetryInfo:
					got.Retry = true
				case *errdetails.RequestInfo:
					requestID = d.GetRequestId()
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("status (-want +got):\n%s\n%v", diff, st)
			}
			if requestID != "id-1" {
				t.Errorf("request id %q", requestID)
			}
			if masked != (tc.want.Code == codes.Internal) || strings.Contains(st.Message(), "10.0.0.1") || strings.Contains(st.Message(), "secret-ns") {
				t.Errorf("masked = %v, message %q", masked, st.Message())
			}
		})
	}
}

// denied is what the API server answers for a webhook.
func denied(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message}}
}

// refused is what the API server answers for objects that break rules of a CRD.
func refused(causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{Causes: causes}}}
}

func TestStatusIsBounded(t *testing.T) {
	var many []Violation
	for range 5000 {
		many = append(many, Violation{Field: "x", Description: strings.Repeat("é", 3000)})
	}
	st, _ := NewTable().Status(Invalid(many), "")
	data, err := proto.Marshal(st.Proto())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(st.Message()) + len(data)*4/3; n > 8<<10 {
		t.Errorf("the status takes %d bytes of headers, want at most 8 KiB", n)
	}
}

// The chain of interceptors translates twice; the second time must change nothing.
func TestStatusIsStable(t *testing.T) {
	table := NewTable()
	first, _ := table.Status(&InvalidError{Reason: "INVALID_SPEC", Violations: []Violation{{Field: "spec.a", Description: "is wrong", Reason: "RC-1"}}}, "id")
	second, masked := table.Status(first.Err(), "id")
	if masked || !proto.Equal(first.Proto(), second.Proto()) {
		t.Errorf("translating again gave %v, want %v", second.Proto(), first.Proto())
	}
}
