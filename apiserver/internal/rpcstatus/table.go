package rpcstatus

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Domain is the ErrorInfo domain of every error of the gateway.
const Domain = "raygate.io"

// A status is sent in HTTP/2 headers, twice: as text, and with the details in base64. Clients based on gRPC's C core, as in Python, begin
// to refuse headers at 8 KiB; the user then sees a broken connection instead of the problem. Text and details are therefore limited, and
// the text has the number of violations.
const (
	maxMessage     = 1 << 10
	maxDescription = 512
	maxViolations  = 4 << 10 // bytes of all of them
)

// Row is the meaning of one error.
type Row struct {
	// Err is found with errors.Is.
	Err error
	// Code and Reason are those of the client's status.
	Code   codes.Code
	Reason string
	// Field is the request field at fault, if one is.
	Field string
	// RetryAfter is when the client should try again. Zero means no hint.
	RetryAfter time.Duration
}

// Table translates errors.
type Table struct{ rows []Row }

// NewTable returns a table of the errors of this package and of rows, which have precedence.
func NewTable(rows ...Row) *Table {
	return &Table{rows: append(rows, builtin...)}
}

var builtin = []Row{
	{Err: context.Canceled, Code: codes.Canceled, Reason: "CANCELLED"},
	{Err: context.DeadlineExceeded, Code: codes.DeadlineExceeded, Reason: "DEADLINE_EXCEEDED"},
}

// Status returns the status for err; nil for nil. The request id is part of the details. If the error is a bug of the gateway, the id is
// also in the text, the error's own text is hidden, masked is true, and the caller should log err.
func (t *Table) Status(err error, requestID string) (st *status.Status, masked bool) {
	if err == nil {
		return nil, false
	}
	if st, ok := status.FromError(err); ok && isOwn(st) {
		return st, false // translated further in, and complete
	}
	p := t.problem(err)
	if p == nil {
		masked = true
		p = &problem{Error: Error{Code: codes.Internal, Reason: "INTERNAL", Message: "internal error; quote request id " + requestID + " when you report it"}}
	}
	return p.status(requestID), masked
}

// problem is an error on its way to a status.
type problem struct {
	Error
	violations []Violation
	resource   *errdetails.ResourceInfo
}

func (t *Table) problem(err error) *problem {
	if invalid, ok := errors.AsType[*InvalidError](err); ok {
		return invalid.problem()
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return &problem{Error: *e}
	}
	for _, row := range t.rows {
		if !errors.Is(err, row.Err) {
			continue
		}
		p := &problem{Error: Error{Code: row.Code, Reason: row.Reason, Message: row.Err.Error(), RetryAfter: row.RetryAfter}}
		if row.Field != "" {
			p.violations = []Violation{{Field: row.Field, Description: row.Err.Error(), Reason: row.Reason}}
		}
		return p
	}
	if p := cmp.Or(kubernetesProblem(err), networkProblem(err)); p != nil {
		return p
	}
	if st, ok := status.FromError(err); ok && st.Code() != codes.Unknown && st.Code() != codes.Internal {
		return &problem{Error: Error{Code: st.Code(), Reason: cmp.Or(Detail[*errdetails.ErrorInfo](st).GetReason(), code.Code(st.Code()).String()), Message: st.Message()}}
	}
	return nil
}

// isOwn reports whether a status was made by a Table.
func isOwn(st *status.Status) bool { return Detail[*errdetails.ErrorInfo](st).GetDomain() == Domain }

// Detail returns the first detail of a type, or nil.
func Detail[T any](st *status.Status) (found T) {
	for _, d := range st.Details() {
		if found, ok := d.(T); ok {
			return found
		}
	}
	return found
}

func (p *problem) status(requestID string) *status.Status {
	st := status.New(p.Code, cut(p.Message, maxMessage))
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: p.Reason, Domain: Domain}}
	if len(p.violations) > 0 {
		bad := &errdetails.BadRequest{}
		room := maxViolations
		for _, v := range p.violations {
			detail := &errdetails.BadRequest_FieldViolation{Field: cut(v.Field, maxDescription), Description: cut(v.Description, maxDescription), Reason: v.Reason}
			if room -= len(detail.GetField()) + len(detail.GetDescription()) + len(detail.GetReason()); room < 0 && len(bad.FieldViolations) > 0 {
				break
			}
			bad.FieldViolations = append(bad.FieldViolations, detail)
		}
		details = append(details, bad)
	}
	if p.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(p.RetryAfter)})
	}
	if p.resource != nil {
		details = append(details, p.resource)
	}
	if requestID != "" {
		details = append(details, &errdetails.RequestInfo{RequestId: requestID})
	}
	full, err := st.WithDetails(details...)
	if err != nil {
		return st // only for code OK, which no row has
	}
	return full
}

// cut bounds a text and makes it valid UTF-8, which protobuf insists on.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}
