package attack

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/podaddress"
)

// plain sends requests without credentials, follows nothing and keeps no cookies.
var plain = &http.Client{Transport: &http.Transport{}}

// openPage opens a dashboard as the console does, and returns the path of its page with the cookies for it.
func openPage(t *testing.T, team, cluster string) (path, cookies string) {
	t.Helper()
	got := as(t, team, "POST", "/apis/v2/namespaces/"+team+"/clusters/"+cluster+"/dashboard:ticket", "")
	var ticket struct{ Path string }
	if err := json.Unmarshal([]byte(got.body), &ticket); err != nil || got.code != http.StatusOK {
		t.Fatalf("ticket: %d %s", got.code, got.body)
	}
	r := &http.Request{Header: http.Header{}}
	for _, c := range (&http.Response{Header: got.header}).Cookies() {
		r.AddCookie(c)
	}
	return ticket.Path, r.Header.Get("Cookie")
}

// Somebody reads traces, or the access log of a proxy in front, and finds the path of a dashboard that another person has open. It opens nothing. Neither spans nor
// the log have a token, and what is asked of dashboards is in the audit log.
func TestPathsAreNoCredentials(t *testing.T) {
	_, address := podaddress.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("secret of team-b")) }))
	newHead(t, teamB, "watched", "", address)
	page, cookies := openPage(t, teamB, "watched")
	url := stage.gateway.url + page
	if got := send(t, plain, "GET", url, "", "Cookie", cookies); got.code != http.StatusOK || !strings.Contains(got.body, "secret of team-b") {
		t.Fatalf("the person who has it open: %d %s", got.code, got.body)
	}
	_, own := openPage(t, teamB, "watched")
	for name, headers := range map[string][]string{
		"nothing": nil, "a token of their own": {"Authorization", "Bearer " + stage.tokens[teamA]}, "a proof of another page": {"Cookie", own}, "a made-up proof": {"X-Raygate-Page", "x"},
	} {
		for _, below := range []string{"", "api/jobs/", "api/actors/kill?actor_id=1", "static/../api/jobs/", "static/%2e%2e/api/jobs/"} {
			if got := send(t, plain, "GET", url+below, "", headers...); got.code < 400 || strings.Contains(got.body, "secret") {
				t.Errorf("%q with %s: %d %s", below, name, got.code, got.body)
			}
		}
	}
	if got := as(t, teamB, "GET", "/apis/v2/namespaces/"+teamB+"/clusters/watched/dashboard/api/actors/kill?actor_id=1", ""); got.code != http.StatusOK {
		t.Errorf("%d %s", got.code, got.body)
	}
	await.True(t, "spans", func() bool { return strings.Contains(stage.spans.String(), "/dashboards/{handle}/{path}") })
	var log []byte
	await.True(t, "the audit log to say that an actor was killed", func() bool {
		var err error
		log, err = os.ReadFile(stage.gateway.Log)
		return err == nil && strings.Contains(string(log), "/api/actors/kill")
	})
	proof := strings.TrimPrefix(cookies, "raygate-page-0=")
	for where, text := range map[string]string{"the spans": stage.spans.String(), "the log": string(log)} {
		for what, secret := range map[string]string{"the path of a page": strings.Trim(page, "/"), "a proof": proof[:min(len(proof), 100)], "a token": stage.tokens[teamB], "a query": "actor_id"} {
			if secret != "" && strings.Contains(text, secret) {
				t.Errorf("%s have %s", where, what)
			}
		}
	}
}

// Strangers learn nothing of the gateway on its public port.
func TestStrangers(t *testing.T) {
	if got := send(t, plain, "GET", stage.gateway.url+"/metrics", ""); got.code != http.StatusUnauthorized {
		t.Errorf("metrics: %d", got.code)
	}
	if got := as(t, teamA, "GET", "/metrics", ""); got.code != http.StatusOK {
		t.Errorf("metrics for a caller: %d", got.code)
	}
	if got := send(t, plain, "GET", stage.gateway.url+"/readyz?verbose", ""); got.code != http.StatusOK || strings.Contains(got.body, "objects") {
		t.Errorf("checks: %d %s", got.code, got.body)
	}
}
