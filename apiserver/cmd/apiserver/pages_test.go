package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/internal/testing/await"
)

// testPages opens dashboards by tickets, as a browser does that has no other credentials.
func testPages(t *testing.T, kube kubernetes.Interface, p *process, tokens map[string]string) {
	var cookies []*http.Cookie // of the last answer
	send := func(method, path, token string, headers ...string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.http+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		cookies = resp.Cookies()
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusMethodNotAllowed && resp.Header.Get("Allow") == "" {
			t.Errorf("%s %s: 405 without Allow", method, path)
		}
		return resp.StatusCode, string(body)
	}
	const clusters = "/apis/v2/namespaces/default/clusters/"
	proofs := map[string]string{} // by path
	ticket := func(token, cluster string) string {
		t.Helper()
		code, body := send("POST", clusters+cluster+"/dashboard:ticket", token)
		var answer struct{ Path, ExpireTime string }
		if err := json.Unmarshal([]byte(body), &answer); code != http.StatusOK || err != nil || !strings.HasPrefix(answer.Path, "/dashboards/") || strings.Contains(body, token) {
			t.Fatalf("ticket for %s: %d %s, %v", cluster, code, body, err)
		}
		if until, err := time.Parse(time.RFC3339, answer.ExpireTime); err != nil || time.Until(until) < 30*time.Minute {
			t.Errorf("the ticket expires at %s, %v", answer.ExpireTime, err)
		}
		var proof string
		for _, c := range cookies {
			if c.Path != answer.Path || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || len(c.Raw) > 4096 {
				t.Errorf("the cookie is %s", c.Raw)
			}
			proof += c.Value
		}
		if proof == "" || strings.Contains(body, proof) {
			t.Errorf("the proof is %q", proof)
		}
		proofs[answer.Path] = proof
		return answer.Path
	}
	for user, want := range map[string]int{"outsider": 403, "": 401} {
		if code, body := send("POST", clusters+"open/dashboard:ticket", tokens[user]); code != want {
			t.Errorf("ticket of %q: %d %s", user, code, body)
		}
	}
	if code, body := send("POST", clusters+"guarded/dashboard:ticket", tokens["reader"]); code != 403 { // who may not read the Secret
		t.Errorf("ticket for a cluster whose token is secret: %d %s", code, body)
	}
	if code, body := send("GET", clusters+"open/dashboard:ticket", tokens["reader"]); code != 405 {
		t.Errorf("GET of a ticket: %d %s", code, body)
	}
	open, guarded := ticket(tokens["reader"], "open"), ticket(tokens["submitter"], "guarded")
	for _, path := range []string{open, guarded} {
		if code, body := send("GET", path+"api/jobs/", "", "Origin", "null", "Sec-Fetch-Site", "cross-site", dashboardproxy.ProofHeader, proofs[path]); code != 200 {
			t.Errorf("what a script asks for: %d %s", code, body)
		}
		if code, body := send("GET", path+"api/jobs/", "", "Cookie", "raygate-page-0="+proofs[path]); code != 200 {
			t.Errorf("page: %d %s", code, body)
		}
		if code, body := send("POST", path+"api/jobs/", "", dashboardproxy.ProofHeader, proofs[path]); code != 405 {
			t.Errorf("POST of a page: %d %s", code, body)
		}
		if code, body := send("OPTIONS", path+"api/jobs/", "", "Origin", "null", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "x-raygate-page"); code != 204 {
			t.Errorf("the question before it: %d %s", code, body)
		}
		// A path, as logs and traces have it, opens nothing but the files of Ray's own pages, and with a proof for another page no more.
		for _, other := range []string{"", "x", proofs[open], proofs[guarded]} {
			if other == proofs[path] {
				continue
			}
			for _, below := range []string{"", "api/jobs/", "static/../api/jobs/"} {
				if code, body := send("GET", path+below, tokens["submitter"], "Cookie", "raygate-page-0="+other); code < 400 || code >= 500 {
					t.Errorf("%q with another proof: %d %s", below, code, body)
				}
			}
		}
		if code, body := send("GET", path+"static/js/main.js", ""); code >= 500 || strings.Contains(body, "TICKET_EXPIRED") {
			t.Errorf("a file of a page: %d %s", code, body)
		}
	}
	// A ticket counts for what it was issued for, whatever else is sent with it, and leads nowhere else.
	for _, path := range []string{
		open + "%2e%2e/%2e%2e/apis/v2/namespaces/default/clusters/guarded/dashboard/api/jobs/", open + "..%2f..%2fguarded", "/dashboards/x/", "/dashboards/" + strings.Repeat("A", 200) + "/", "/dashboards/", "/dashboards",
	} {
		if code, body := send("GET", path, tokens["submitter"], dashboardproxy.ProofHeader, proofs[open]); code < 400 || code >= 500 {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, body := send("GET", open+"api/jobs/", "another's", dashboardproxy.ProofHeader, proofs[open]); code != 200 {
		t.Errorf("credentials beside the ticket are looked at: %d %s", code, body)
	}
	foreign, _, _ := dashboardproxy.NewTickets([][]byte{[]byte("another key")}, nil).Issue(types.NamespacedName{Namespace: "default", Name: "open"}, nil, dashboardproxy.Holder{Authorization: "Bearer " + tokens["submitter"]})
	if code, body := send("GET", "/dashboards/"+foreign+"/", ""); code != 401 || !strings.Contains(body, "TICKET_EXPIRED") {
		t.Errorf("a ticket of another key: %d %s", code, body)
	}
	// The right is taken away.
	if err := kube.RbacV1().RoleBindings("default").Delete(t.Context(), "reader-more", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the ticket of somebody without the right opens nothing", func() bool {
		code, _ := send("GET", open+"api/jobs/", "", dashboardproxy.ProofHeader, proofs[open])
		return code == 403
	})
	// The caller is no more.
	if err := kube.CoreV1().ServiceAccounts("default").Delete(t.Context(), "submitter", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the ticket of somebody who is no more opens nothing", func() bool {
		code, _ := send("GET", guarded+"api/jobs/", "", dashboardproxy.ProofHeader, proofs[guarded])
		return code == 401
	})
}

func TestPagesNeedATokenOfTheCaller(t *testing.T) {
	for mode, want := range map[authn.Mode]bool{authn.Passthrough: true, authn.None: true, authn.Impersonate: false} {
		if pages := newPages(&Options{Authentication: string(mode)}, &dashboardproxy.Proxy{}); (pages != nil) != want {
			t.Errorf("%s: %v", mode, pages)
		}
	}
}
