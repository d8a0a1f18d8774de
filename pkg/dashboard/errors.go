package dashboard

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kinds of errors, by what a caller can do about them. Each Error matches exactly one of these with errors.Is.
var (
	// ErrNotFound means that the dashboard has no record of the job. An answer of an intermediary, such as the proxy of the API server,
	// never matches it.
	ErrNotFound = errors.New("not found")
	// ErrDuplicate means that Ray has a job of this submission id already.
	ErrDuplicate = errors.New("submission id in use")
	// ErrInvalid means that the request is refused and will be refused again.
	ErrInvalid = errors.New("invalid request")
	// ErrUnauthenticated means that a token is missing.
	ErrUnauthenticated = errors.New("unauthenticated")
	// ErrForbidden means that the token is wrong or lacks a right.
	ErrForbidden = errors.New("forbidden")
	// ErrUnavailable means that the dashboard could not be reached, did not answer in time, or has trouble itself. It may
	// work later, and the request may have had its effect.
	ErrUnavailable = errors.New("unavailable")
	// ErrMalformed means that the answer is not a valid answer of a dashboard.
	ErrMalformed = errors.New("malformed answer")
	// ErrTooLarge means that the answer is larger than the limit.
	ErrTooLarge = errors.New("answer too large")
)

// Error is a call that did not succeed. Its text is one line and contains no token.
type Error struct {
	// Call names the method, as in GetJob.
	Call string
	// Kind is one of the sentinels of this package.
	Kind error
	// Code is the HTTP status code; 0 if there was no answer.
	Code int
	// Proxy means that an intermediary answered instead of the dashboard, such as the API server.
	Proxy bool
	// Message is the message in the answer, clipped.
	Message string
	// Cause is the error underneath, if any.
	Cause error
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "dashboard %s: %v", e.Call, e.Kind)
	if e.Code != 0 {
		fmt.Fprintf(&b, " (HTTP %d", e.Code)
		if e.Proxy {
			b.WriteString(" of a proxy")
		}
		b.WriteString(")")
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %s", clip(e.Cause.Error(), maxMessage))
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	return b.String()
}

// Unwrap returns the kind and the cause, for errors.Is.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// maxMessage is the maximum size of an answer in an error, in bytes. Answers of Ray contain Python tracebacks.
const maxMessage = 512

// clip returns one printable line of at most n bytes. It keeps the beginning and the end of a longer text, because a traceback has its
// error at the end.
func clip(text string, n int) string {
	const gap = " ... "
	if len(text) > 8*n {
		text = text[:4*n] + gap + text[len(text)-4*n:]
	}
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if len(text) <= n {
		return text
	}
	head, tail := n/3, len(text)-(n-n/3-len(gap))
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + gap + text[tail:]
}
