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
			Object:  json.RawMessage(`{"text":"` + secret + `"}`),
			Answers: history.Answers{"timezone": {Body: json.RawMessage(`"` + secret + `"`)}},
			Nodes: func(yield func(history.NodeLog, []byte) bool) {
				yield(history.NodeLog{Node: "n", Head: true, File: "raylet.out"}, []byte(secret))
			},
		}
		_, err := store.Put(t.Context(), r, strings.NewReader(secret))
		must(t, err)
	}
	remember(teamB, "past")
	remember(teamB, "past-too")
	in := func(team, path string) string { return "/apis/v2/namespaces/" + team + path }
	paths := []string{"/history", "/history?kind=RayJob&name=past", "/history/RayJob/past", "/jobs/past/logs", "/jobs/past/logs?attempt=1&uid=uid-of-past", "/history/RayJob/past/dashboard/timezone", "/jobs/past/logs?file=raylet.out",
		"/history/RayJob/past/dashboard/api/v0/logs/file?node_id=n&filename=raylet.out", "/jobs/past:diagnose",
		"/jobs/past:diagnose?attempt=1&uid=uid-of-past"}
	for _, path := range paths[:8] {
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
	for _, path := range paths {
		if got := as(t, teamA, http.MethodGet, in(teamB, path), ""); got.code != http.StatusForbidden || strings.Contains(got.body, secret) {
			t.Errorf("team-a asks for %s of team-b: %d %s", path, got.code, got.body)
		}
	}
	for _, attack := range []struct {
		path string
		code int
	}{
		{in(teamA, "/jobs/past:diagnose?uid=uid-of-past"), http.StatusNotFound},
		{in(teamA, "/history/RayJob/past"), http.StatusNotFound},
		{in(teamA, "/history/RayJob/past?uid=uid-of-past"), http.StatusNotFound},
		{in(teamA, "/history/RayJob/past/dashboard/timezone?uid=uid-of-past&attempt=1"), http.StatusNotFound},
		{in(teamA, "/history/RayJob/x/dashboard/timezone?uid="+up), http.StatusBadRequest},
		{in(teamA, "/history/RayJob/x/dashboard/"+up), http.StatusNotFound},
		{in(teamA, "/jobs/past/logs"), http.StatusNotFound},
		{in(teamA, "/jobs/past/logs?file=raylet.out&uid=uid-of-past"), http.StatusNotFound},
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

// TestUsage shows that a tenant learns no usage of another one, neither by its namespace nor by a path in a parameter, and that parameters without a meaning
// are the client's mistake.
func TestUsage(t *testing.T) {
	const owner = "an-owner-in-team-b"
	store, err := history.Open(t.Context(), historyStore(), history.Limits{})
	must(t, err)
	defer func() { _ = store.Close() }()
	_, err = store.Put(t.Context(), &history.Record{Summary: history.Summary{
		Key:   history.Key{Kind: "RayCluster", Namespace: teamB, Name: "used", UID: "uid-of-used", Created: time.Unix(1, 0)},
		Ended: time.Unix(2, 0), Owner: owner, Usage: history.Months{"2020-01": {CPU: 1}},
	}}, nil)
	must(t, err)
	at := func(team, query string) string { return "/apis/v2/namespaces/" + team + "/usage" + query }
	if got := as(t, teamB, http.MethodGet, at(teamB, "?month=2020-01&groupBy=owner"), ""); got.code != http.StatusOK || !strings.Contains(got.body, owner) {
		t.Errorf("team-b asks for its own usage: %d %s", got.code, got.body)
	}
	up := url.PathEscape("../" + teamB + "/2020-01")
	for path, code := range map[string]int{
		at(teamB, "?month=2020-01&groupBy=owner"):                             http.StatusForbidden,
		at(teamA, "?month=2020-01&groupBy=owner"):                             http.StatusOK, // its own, which is empty
		at(teamA, "?month=2020-01&groupBy=owner&namespace="+teamB):            http.StatusBadRequest,
		at(url.PathEscape("../"+teamB), "?month=2020-01"):                     http.StatusNotFound,
		at(teamA, "?month="+up):                                               http.StatusBadRequest,
		at(teamA, "?month=2020-13"):                                           http.StatusBadRequest,
		at(teamA, "?month="+url.QueryEscape("2020-01\x00")):                   http.StatusBadRequest,
		at(teamA, "?groupBy="+up):                                             http.StatusBadRequest,
		at(teamA, "?groupBy="+strings.Repeat("owner,", 10_000)+"team"):        http.StatusBadRequest,
		at(teamA, "?month=2020-01&month=2020-02"):                             http.StatusBadRequest,
		"/apis/v2/namespaces/" + teamB + "/history?kind=RayCluster&name=used": http.StatusForbidden,
	} {
		got := as(t, teamA, http.MethodGet, path, "")
		if got.code != code || strings.Contains(got.body, owner) {
			t.Errorf("team-a asks for %.200s: %d %s, want %d", path, got.code, got.body, code)
		}
	}
}
