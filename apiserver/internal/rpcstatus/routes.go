package rpcstatus

import (
	"strings"

	"google.golang.org/grpc/codes"
)

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
