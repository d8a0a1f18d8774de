package attack

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/raygate/raygate/pkg/history"
	_ "github.com/raygate/raygate/pkg/history/drivers" // file://
)

// TestHistory shows that a tenant reads no list, record or log of another one: neither by its namespace, nor from its own by the names, UIDs
// and page tokens of the other.
func TestHistory(t *testing.T) {
	const secret = "the-secret-of-team-b"
	store, err := history.Open(t.Context(), historyStore(), history.Limits{})
	must(t, err)
	defer func() { _ = store.Close() }()
	remember := func(team, name string) {
		r := &history.Record{
			Summary: history.Summary{
				Key:   history.Key{Kind: "RayJob", Namespace: team, Name: name, UID: "uid-of-" + name, Attempt: 1, Created: time.Unix(1, 0)},
				Ended: time.Unix(2, 0), Message: secret,
			},
			Object: json.RawMessage(`{"text":"` + secret + `"}`),
		}
		_, err := store.Put(t.Context(), r, strings.NewReader(secret))
		must(t, err)
	}
	remember(teamB, "past")
	remember(teamB, "past-too")
	in := func(team, path string) string { return "/apis/v2/namespaces/" + team + path }
	paths := []string{"/history", "/history?kind=RayJob&name=past", "/history/RayJob/past", "/jobs/past/logs", "/jobs/past/logs?attempt=1&uid=uid-of-past", "/jobs/past:diagnose",
		"/jobs/past:diagnose?attempt=1&uid=uid-of-past"}
	for _, path := range paths[:5] {
		if got := as(t, teamB, http.MethodGet, in(teamB, path), ""); got.code != http.StatusOK || !strings.Contains(got.body, secret) {
			t.Errorf("team-b asks for its own %s: %d %s", path, got.code, got.body)
		}
	}
	var page struct{ NextPageToken string }
	must(t, json.Unmarshal([]byte(as(t, teamB, http.MethodGet, in(teamB, "/history?pageSize=1"), "").body), &page))
	if page.NextPageToken == "" {
		t.Fatal("team-b got no page token")
	}
	up := url.PathEscape("../../" + teamB + "/RayJob/past")
	for _, attack := range []struct {
		path string
		code int
	}{
		{in(teamB, paths[0]), http.StatusForbidden}, {in(teamB, paths[1]), http.StatusForbidden}, {in(teamB, paths[2]), http.StatusForbidden},
		{in(teamB, paths[3]), http.StatusForbidden}, {in(teamB, paths[4]), http.StatusForbidden}, {in(teamB, paths[5]), http.StatusForbidden},
		{in(teamB, paths[6]), http.StatusForbidden}, {in(teamA, "/jobs/past:diagnose?uid=uid-of-past"), http.StatusNotFound},
		{in(teamA, "/history/RayJob/past"), http.StatusNotFound},
		{in(teamA, "/history/RayJob/past?uid=uid-of-past"), http.StatusNotFound},
		{in(teamA, "/jobs/past/logs"), http.StatusNotFound},
		{in(teamA, "/jobs/past/logs?uid=uid-of-past&attempt=1"), http.StatusNotFound},
		{in(teamA, "/history?pageSize=1&pageToken="+page.NextPageToken), http.StatusBadRequest},
		{in(teamA, "/history?name="+up), http.StatusBadRequest},
		{in(teamA, "/history?kind="+up), http.StatusBadRequest},
		{in(teamA, "/history/RayJob/x?uid="+up), http.StatusBadRequest},
		{in(teamA, "/jobs/x/logs?uid="+up), http.StatusBadRequest},
		{in(url.PathEscape("../"+teamB), "/history"), http.StatusNotFound},
	} {
		got := as(t, teamA, http.MethodGet, attack.path, "")
		if got.code != attack.code || strings.Contains(got.body, secret) {
			t.Errorf("team-a asks for %s: %d %s, want %d", attack.path, got.code, got.body, attack.code)
		}
	}
	if got := as(t, teamA, http.MethodGet, in(teamA, "/history"), ""); got.code != http.StatusOK || strings.Contains(got.body, "past") {
		t.Errorf("team-a asks for its own history: %d %s", got.code, got.body)
	}
}
