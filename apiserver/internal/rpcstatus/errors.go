package rpcstatus

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// Violation is one thing wrong with a request.
type Violation struct {
	// Field is the JSON path, for example spec.workerGroupSpecs[1].minReplicas. Empty means the request as a whole.
	Field string
	// Description describes the problem and a remedy.
	Description string
	// Reason is the stable id of the rule.
	Reason string
}

// InvalidError means that a request is invalid, with all its problems.
type InvalidError struct {
	// Reason of the ErrorInfo. Empty means INVALID_SPEC.
	Reason string
	// Violations, at least one, in the order of the object.
	Violations []Violation
}

// Invalid returns an InvalidError, or nil when there are no violations.
func Invalid(violations []Violation) error {
	if len(violations) == 0 {
		return nil
	}
	return &InvalidError{Violations: violations}
}

// BadField returns an InvalidError about one field of the request itself.
func BadField(field, format string, args ...any) error {
	return &InvalidError{Reason: "INVALID_ARGUMENT", Violations: []Violation{{Field: field, Description: fmt.Sprintf(format, args...), Reason: "INVALID_ARGUMENT"}}}
}

// Error implements error: "path: message; path: message".
func (e *InvalidError) Error() string {
	parts := make([]string, 0, len(e.Violations))
	for _, v := range e.Violations {
		if v.Field == "" {
			parts = append(parts, v.Description)
			continue
		}
		parts = append(parts, v.Field+": "+v.Description)
	}
	return strings.Join(parts, "; ")
}

func (e *InvalidError) problem() *problem {
	message := e.Error()
	if n := len(e.Violations); n > 1 {
		message = fmt.Sprintf("%d problems: %s", n, message)
	}
	return &problem{Error: Error{Code: codes.InvalidArgument, Reason: cmp.Or(e.Reason, "INVALID_SPEC"), Message: message}, violations: e.Violations}
}

// Error is an error that has its status.
type Error struct {
	Code    codes.Code
	Reason  string
	Message string
	// RetryAfter is the hint to the client when to try again. Zero means no hint.
	RetryAfter time.Duration
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Precondition returns the error of a call that is not possible in the state of an object.
func Precondition(reason, format string, args ...any) error {
	return &Error{Code: codes.FailedPrecondition, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// NotFound is the error for an object, or a part of one, that does not exist.
func NotFound(format string, args ...any) error {
	return &Error{Code: codes.NotFound, Reason: "NOT_FOUND", Message: fmt.Sprintf(format, args...)}
}

// PathNotFound is the error for a path at which nothing is served.
func PathNotFound(message string) *Error {
	return &Error{Code: codes.NotFound, Reason: "PATH_NOT_FOUND", Message: message}
}

// MethodNotAllowed is the error for an HTTP method that a path does not have.
func MethodNotAllowed(message string) *Error {
	return &Error{Code: codes.Unimplemented, Reason: "METHOD_NOT_ALLOWED", Message: message}
}

// maxQuoted is the longest text of a client in a message, in bytes.
const maxQuoted = 200

// Quoted returns a text of a client as a message may repeat it: valid UTF-8, and not long.
func Quoted(text string) string {
	if len(text) > maxQuoted {
		text = text[:maxQuoted] + "..."
	}
	return strings.ToValidUTF8(text, "?")
}
