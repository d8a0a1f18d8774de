package dashboard

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"regexp"
	"strings"
)

// maxErrorBody is the maximum size of an error answer that is read, in bytes.
const maxErrorBody = 64 << 10

// duplicateHint is part of the answer to a submission whose id is in use.
const duplicateHint = "Please use a different submission_id"

// agentRefusal is in the answer of a head that passes on a refusal by the agent of a node, with status code 500.
var agentRefusal = regexp.MustCompile(`status code (4[0-9][0-9])\b`)

// refusal is the error for an answer with another status code than 200.
func refusal(name string, code int, contentType string, body []byte) *Error {
	text := string(body)
	e := &Error{Call: name, Code: code, Proxy: fromProxy(code, contentType, body), Message: clip(text, maxMessage)}
	e.Kind = kindOf(code)
	switch {
	case e.Proxy && code != http.StatusUnauthorized && code != http.StatusForbidden:
		e.Kind = ErrUnavailable
	case e.Proxy:
	case strings.Contains(text, duplicateHint):
		e.Kind = ErrDuplicate
	case code == http.StatusInternalServerError:
		switch match := agentRefusal.FindStringSubmatch(text); {
		case match == nil:
		case match[1] == "400":
			e.Kind = ErrInvalid
		case match[1] == "404" && name != callSubmit:
			e.Kind = ErrNotFound
		}
	}
	return e
}

func kindOf(code int) error {
	switch {
	case code == http.StatusNotFound:
		return ErrNotFound
	case code == http.StatusUnauthorized:
		return ErrUnauthenticated
	case code == http.StatusForbidden:
		return ErrForbidden
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests:
		return ErrUnavailable
	case code >= 400 && code < 500:
		return ErrInvalid
	case code >= 200 && code < 300:
		return ErrMalformed // a dashboard answers 200 or an error
	default:
		return ErrUnavailable // a redirect comes from another server, such as a login page
	}
}

// fromProxy reports whether an intermediary answered instead of the dashboard. Errors of the dashboard are plain text and never empty. The
// API server answers with a Status, or for an unknown path with the text of Go's net/http. Load balancers and service meshes answer with a
// page, with JSON of their own, or with nothing. A 404 of these must not count as an unknown job.
func fromProxy(code int, contentType string, body []byte) bool {
	text := bytes.TrimSpace(body)
	kind, _, _ := mime.ParseMediaType(contentType)
	switch {
	case kind == "text/html":
		return true
	case isJSON(contentType):
		var status struct {
			Kind string `json:"kind"`
		}
		return code == http.StatusNotFound || json.Unmarshal(text, &status) != nil || status.Kind == "Status"
	default:
		return code == http.StatusNotFound && (len(text) == 0 || string(text) == "404 page not found")
	}
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}

// isPage reports whether the answer is an HTML page, such as the login page of an intermediary.
func isPage(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "text/html"
}
