package raygate

import (
	"errors"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrNoSuchMethod is wrapped by the error of a verb that a kind does not have.
var ErrNoSuchMethod = errors.New("the kind has no such method")

// Problem is the content of an error of the gateway.
type Problem struct {
	Code codes.Code
	// Reason is a word for programs, such as NOT_FOUND or QUOTA_EXCEEDED; empty when the error is not the gateway's.
	Reason  string
	Message string
	// Violations are all problems of the request, in the order of the object's fields.
	Violations []Violation
	// Preconditions are the states that the call requires and that are not met.
	Preconditions []string
	// RetryAfter is how long to wait before a retry; zero if the gateway does not say.
	RetryAfter time.Duration
	// RequestID identifies the request in the gateway's log.
	RequestID string
}

// Violation is one thing wrong with a request.
type Violation struct {
	// Field is the JSON path; empty for the request as a whole.
	Field string
	// Description describes the problem and a remedy.
	Description string
	// Rule is the id of the rule, as in docs/validation.md.
	Rule string
}

// domain is the domain of the gateway's errors.
const domain = "raygate.io"

// ProblemOf converts an error. It never returns nil. An error that does not come from a server has the code Unknown, or that of an ended
// context. Message does not contain text that wraps the server's message.
func ProblemOf(err error) *Problem {
	var st *status.Status
	if said, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err); ok {
		st = said.GRPCStatus()
	} else {
		st = status.FromContextError(err)
	}
	p := &Problem{Code: st.Code(), Message: st.Message()}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() == domain {
				p.Reason = d.GetReason()
			}
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				p.Violations = append(p.Violations, Violation{Field: v.GetField(), Description: v.GetDescription(), Rule: v.GetReason()})
			}
		case *errdetails.PreconditionFailure:
			for _, v := range d.GetViolations() {
				p.Preconditions = append(p.Preconditions, v.GetDescription())
			}
		case *errdetails.RetryInfo:
			p.RetryAfter = d.GetRetryDelay().AsDuration()
		case *errdetails.RequestInfo:
			p.RequestID = d.GetRequestId()
		}
	}
	return p
}
