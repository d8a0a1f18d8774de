package gateway

import (
	"context"
	"net/http"
	"time"
)

// answer is the response being written. It gives each write its own time: streams have no end, but a client that takes nothing has.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	request *http.Request
	begun   bool // something was written
	ended   bool // all that follows is dropped
}

type answerKey struct{}

func answerFrom(ctx context.Context) *answer {
	a, _ := ctx.Value(answerKey{}).(*answer)
	return a
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	if a.ended {
		return
	}
	a.begun = true
	a.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.ended {
		return len(p), nil
	}
	a.begun = true
	_ = a.control.SetWriteDeadline(time.Now().Add(writeTime)) //nolint:forbidigo // the kernel compares it with the real time
	return a.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
