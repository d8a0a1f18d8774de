package kube

import (
	"net/http"
	"slices"
	"time"

	"github.com/raygate/raygate/apiserver/internal/rest"
)

// attempts bounds how often a request is sent; retryDelay is the first wait, which doubles.
const (
	attempts   = 4
	retryDelay = 250 * time.Millisecond
)

// retryable are the answers after which trying again may help.
var retryable = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// retrying repeats reads while the API server is unavailable. No part of an answer has been passed on by then. Requests that may change
// something are sent once, because it is unknown whether they took effect.
type retrying struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t retrying) RoundTrip(r *http.Request) (*http.Response, error) {
	if !onlyReads(r) {
		return t.next.RoundTrip(r)
	}
	for attempt, delay := 1, retryDelay; ; attempt, delay = attempt+1, delay*2 {
		resp, err := t.next.RoundTrip(r)
		if attempt == attempts || err == nil && !slices.Contains(retryable, resp.StatusCode) || r.Context().Err() != nil {
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

func onlyReads(r *http.Request) bool {
	return rest.IsRead(r.Method) && (r.Body == nil || r.Body == http.NoBody) && r.Header.Get("Upgrade") == ""
}
