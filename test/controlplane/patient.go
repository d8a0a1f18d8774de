package controlplane

import (
	"bytes"
	"io"
	"net/http"
)

// patient makes clients repeat requests that an API server under load, or a webhook that it calls, did not finish in time. client-go repeats
// them for this header. What a webhook did not answer is not stored.
type patient struct{ http.RoundTripper }

func patiently(next http.RoundTripper) http.RoundTripper { return patient{next} }

// RoundTrip implements http.RoundTripper.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	late := resp.StatusCode == http.StatusGatewayTimeout
	if resp.StatusCode == http.StatusInternalServerError {
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		late = bytes.Contains(body, []byte("failed calling webhook")) && bytes.Contains(body, []byte("context deadline exceeded"))
	}
	if late {
		resp.Header.Set("Retry-After", "1")
	}
	return resp, nil
}
