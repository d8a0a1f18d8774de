package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// reply is what the gateway answered on REST.
type reply struct {
	code   int
	header http.Header
	body   []byte
}

// rest sends one request to the gateway. The media type is that of the body, or where there is none, of the wanted answer.
func rest(t *testing.T, method, path, mediaType string, body []byte) reply {
	t.Helper()
	r, err := tryREST(t, method, path, mediaType, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

func tryREST(t *testing.T, method, path, mediaType string, body []byte) (reply, error) {
	req, err := http.NewRequestWithContext(t.Context(), method, product.rest+path, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if len(body) == 0 {
		req.Header.Set("Accept", mediaType)
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	req.Header.Set("Authorization", "Bearer "+product.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, data}, err
}

// want fails the test unless the reply has this code.
func (r reply) want(t *testing.T, code int) reply {
	t.Helper()
	if r.code != code {
		t.Fatalf("HTTP %d, want %d: %s", r.code, code, r.body)
	}
	return r
}

// decode reads the reply's JSON into v.
func (r reply) decode(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		t.Fatalf("decoding %s: %v", r.body, err)
	}
}
