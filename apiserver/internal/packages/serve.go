package packages

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

const (
	// maxReaders is the maximum number of packages that are sent at once. Their readers are anonymous, so there is no limit per reader.
	maxReaders = 64
	// sendTime is how long a reader may take.
	sendTime = 10 * time.Minute
)

// Handler serves packages below Prefix to those who know a URL.
func (s *Store) Handler(writeError func(http.ResponseWriter, error)) http.Handler {
	readers := make(chan struct{}, maxReaders)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest.SetRoute(w, Prefix+"{url}")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			writeError(w, rpcstatus.MethodNotAllowed("use GET"))
			return
		}
		select {
		case readers <- struct{}{}:
			defer func() { <-readers }()
		case <-r.Context().Done():
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(sendTime)) //nolint:forbidigo // the kernel compares it with the real time
		in, size, err := s.Open(r.Context(), strings.TrimPrefix(r.URL.Path, Prefix))
		if err != nil {
			writeError(w, err)
			return
		}
		defer func() { _ = in.Close() }()
		w.Header().Set("Content-Type", "application/zip")
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		if r.Method == http.MethodGet {
			_, _ = io.Copy(w, in) // a reader sees by the length that it has broken off
		}
	})
}
