package rest_test

import "testing"

// Conditions that no method of V2 heeds were ignored while it wrote.
func TestConditionsThatAreNotHeeded(t *testing.T) {
	h := newGateway(t, false)
	for _, tc := range []struct {
		method, target, body, header string
		want                         int
	}{
		{"DELETE", clusters + "/demo", "", "If-None-Match", 400},
		{"DELETE", clusters + "/demo", "", "If-Unmodified-Since", 400},
		{"POST", clusters, good, "If-None-Match", 400},
		{"POST", clusters, good, "If-Match", 400},
		{"POST", clusters + "/demo:suspend", "", "If-None-Match", 400},
		{"DELETE", clusters + "/demo", "", "If-Match", 200},
		{"GET", clusters, "", "If-None-Match", 200},
		{"POST", "/apis/v2/namespaces/default/jobs/demo:stop", "", "If-Match", 400},
		{"POST", "/apis/v2/namespaces/default/cronjobs/demo:trigger", "", "If-Match", 400},
		{"POST", clusters + "/demo/submissions/x:stop", "", "If-Match", 400},
		{"DELETE", clusters + "/demo/submissions/x", "", "If-Match", 400},
	} {
		if w := call(h, tc.method, tc.target, tc.body, tc.header, `"1"`); w.Code != tc.want {
			t.Errorf("%s %s with %s: %d, want %d: %s", tc.method, tc.target, tc.header, w.Code, tc.want, w.Body)
		}
	}
}
