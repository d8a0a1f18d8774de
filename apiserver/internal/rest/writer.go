package rest

import (
	"cmp"
	"net/http"
	"time"
)

// writeChunk is the part of a body that one write deadline covers. A client that keeps reading gets the time that it needs; one that has
// stopped does not.
const writeChunk = 64 << 10

// Writer is the response that handlers write to.
type Writer struct {
	http.ResponseWriter
	control *http.ResponseController
	code    int
	route   string
}

// SetRoute names the route of the request for the metrics. It must come from a short list and not from the client.
func SetRoute(w http.ResponseWriter, route string) {
	if own, ok := w.(*Writer); ok {
		own.route = route
	}
}

// LiftReadLimit is called once the body has been read: a response may take as long as it likes.
func LiftReadLimit(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// WriteHeader implements http.ResponseWriter.
func (w *Writer) WriteHeader(code int) {
	if informational := code < http.StatusOK && code != http.StatusSwitchingProtocols; w.code == 0 && !informational {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *Writer) Write(p []byte) (int, error) {
	w.code = cmp.Or(w.code, http.StatusOK)
	written := 0
	for {
		part := p[written:min(len(p), written+writeChunk)]
		_ = w.control.SetWriteDeadline(time.Now().Add(writeTime)) //nolint:forbidigo // the kernel compares it with the real time
		n, err := w.ResponseWriter.Write(part)
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// Unwrap is for http.ResponseController.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
