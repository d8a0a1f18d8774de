package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/pkg/manifest"
)

func TestLocateOverHTTP(t *testing.T) {
	c := newConsole(t, authn.Passthrough, nil)
	type answer struct {
		Positions map[string]manifest.Position `json:"positions"`
	}
	known := map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/yaml"}
	query := url.Values{"field": {"spec.groups[1].name", "metadata.labels[a/b]", "status"}}.Encode()
	const text = "metadata:\n  labels: {a/b: c}\nspec:\n  groups:\n  - name: x\n  - name: y\n"
	want := answer{map[string]manifest.Position{"spec.groups[1].name": {Line: 6, Column: 5}, "metadata.labels[a/b]": {Line: 2, Column: 12}, "status": {Line: 1, Column: 1}}}
	if diff := cmp.Diff(want, decode[answer](t, call(c, http.MethodPost, "/ui/api/locate?"+query, text, known))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, tc := range map[string]struct {
		method, body string
		header       map[string]string
		want         int
	}{
		"no credentials":      {http.MethodPost, text, map[string]string{"Content-Type": "application/yaml"}, http.StatusUnauthorized},
		"a page of elsewhere": {http.MethodPost, text, map[string]string{"Authorization": "Bearer " + token, "Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		"another method":      {http.MethodGet, "", known, http.StatusNotFound},
		"too long a body":     {http.MethodPost, strings.Repeat("#", 3<<20+1), known, http.StatusRequestEntityTooLarge},
		"no YAML":             {http.MethodPost, "a: [", known, http.StatusOK},
		"no body":             {http.MethodPost, "", known, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			if w := call(c, tc.method, "/ui/api/locate?"+query, tc.body, tc.header); w.Code != tc.want {
				t.Errorf("HTTP %d: %s, want %d", w.Code, w.Body, tc.want)
			} else if tc.want == http.StatusOK && strings.TrimSpace(w.Body.String()) != `{"positions":{}}` {
				t.Errorf("the answer is %s", w.Body)
			}
		})
	}
}
