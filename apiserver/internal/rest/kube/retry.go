package kube

import (
	"net/http"
	"slices"
	"time"
)

// attempts bounds how often a request is sent; retryDelay is the first wait, which doubles.
const (
	attempts   = 4
	retryDelay = 250 * time.Millisecond
)

// retryable are the answers after which trying again may help.
var retryable = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// retrying sends a request that only reads again when the API server is not there for a moment. One that may change something is sent once: nobody can know
// whether it has been carried out. Nothing of an answer has been passed on then.
type retrying struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t retrying) RoundTrip(r *http.Request) (*http.Response, error) {
	reads := (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.Body == nil || r.Body == http.NoBody) && r.Header.Get("Upgrade") == ""
	for attempt, delay := 1, retryDelay; ; attempt, delay = attempt+1, delay*2 {
		resp, err := t.next.RoundTrip(r)
		if !reads || attempt == attempts || err == nil && !slices.Contains(retryable, resp.StatusCode) || r.Context().Err() != nil {
			return resp, err
		}
		if err == nil {
			_ = resp.Body.Close()
		}
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(delay):
		}
	}
}
