package rest

import (
	"net/http"
	"time"
)

// Time limits of HTTP connections.
const (
	headerTime = 10 * time.Second
	bodyTime   = 30 * time.Second
	writeTime  = 30 * time.Second
	idleTime   = 2 * time.Minute
	maxHeader  = 64 << 10 // OIDC tokens are large
)

// NewServer returns a server with the gateway's limits. There is no time limit on a whole response, because a watch has none. Its reads are
// limited until a handler lifts the limit, as that of a watch must.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader}
}
