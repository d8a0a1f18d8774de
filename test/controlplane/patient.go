package controlplane

import "net/http"

// patient makes clients repeat requests that an API server under load did not finish in time. client-go repeats them for this header.
type patient struct{ http.RoundTripper }

func patiently(next http.RoundTripper) http.RoundTripper { return patient{next} }

// RoundTrip implements http.RoundTripper.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.RoundTripper.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusGatewayTimeout {
		resp.Header.Set("Retry-After", "1")
	}
	return resp, err
}
