package attack

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/oidcprovider"
	"github.com/raygate/raygate/internal/testing/podaddress"
)

// tokenLife of ID tokens: a session is renewed after half of it.
const tokenLife = "6s"

// company is a gateway whose users log in with an identity provider. ada may do everything with Ray in team-a, ben may read there.
type company struct {
	*gateway
	// replica is another one, which the provider does not know.
	replica  *gateway
	provider *oidcprovider.Process
	// seen are all answers but for their cookies.
	seen *strings.Builder
}

func startCompany(t *testing.T) *company {
	t.Helper()
	args := append([]string{"--authentication=impersonate", "--page-token-secret=raygate-system/raygate-apiserver-page-tokens"}, stage.traced...)
	g, err := newGateway("login", stage.rights, args...)
	must(t, err)
	replica, err := newGateway("login-replica", stage.rights, args...)
	must(t, err)
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("secret-of-the-console\n"), 0o600))
	c := &company{gateway: g, replica: replica, provider: oidcprovider.Start(t, g.url, "-token-life="+tokenLife, "-console-secret-file="+secret), seen: &strings.Builder{}}
	file := filepath.Join(c.provider.Dir, "login.yaml")
	text := "redirectURL: " + g.url + "/oauth2/callback\nproviders: [{name: Company, issuerURL: '" + c.provider.URL + "', clientID: raygate-console, clientSecretFile: " + secret + "}]\n"
	must(t, os.WriteFile(file, []byte(text), 0o600))
	for _, each := range []*gateway{g, replica} {
		each.Args = append(each.Args, "--authentication-config="+c.provider.Config(), "--login-config="+file)
		must(t, each.Start())
		t.Cleanup(each.Stop)
	}
	for group, verbs := range map[string][]string{"sso:ml-engineers": {"*"}, "sso:ml-guests": {"get", "list", "watch"}} {
		meta := metav1.ObjectMeta{Namespace: teamA, Name: strings.TrimPrefix(group, "sso:")}
		must(t, stage.kube.Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"ray.io"}, Resources: []string{"*"}, Verbs: verbs}, {APIGroups: []string{""}, Resources: []string{"services/proxy"}, Verbs: verbs},
		}}))
		must(t, stage.kube.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}, Subjects: []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: group}},
		}))
	}
	return c
}

// browser keeps cookies as browsers do.
type browser struct {
	t *testing.T
	c *company
	*http.Client
}

func (c *company) browser(t *testing.T) *browser {
	t.Helper()
	b := &browser{t, c, c.provider.Client(t)}
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return b
}

// elsewhere is the browser when its requests reach the other replica.
func (b *browser) elsewhere() *browser {
	c := *b.c
	c.gateway = c.replica
	return &browser{b.t, &c, b.Client}
}

// asks sends a request to the gateway; from is the value of Sec-Fetch-Site.
func (b *browser) asks(from, method, path, body string) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.c.url+path, strings.NewReader(body))
	must(b.t, err)
	for _, cookie := range b.Jar.Cookies(r.URL) {
		r.AddCookie(cookie)
	}
	headers := []string{"Sec-Fetch-Site", from, "Content-Type", "application/json", "Cookie", r.Header.Get("Cookie")}
	got := send(b.t, b.Client, method, r.URL.String(), body, headers...)
	b.Jar.SetCookies(r.URL, (&http.Response{Header: got.header}).Cookies())
	if got.code == http.StatusSeeOther { // to the provider, with state and nonce
		return got
	}
	shown := got.header.Clone()
	shown.Del("Set-Cookie")
	text, err := json.Marshal(shown)
	must(b.t, err)
	b.c.seen.WriteString(got.body + string(text))
	return got
}

// begins begins a login, and returns the answer of the provider to it, which the browser has not sent to the gateway yet.
func (b *browser) begins(user string) *url.URL {
	b.t.Helper()
	got := b.asks("same-origin", "GET", "/oauth2/login?"+url.Values{"issuer": {b.c.provider.URL}, "next": {"/ui/jobs"}}.Encode(), "")
	if got.code != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), b.c.provider.URL) {
		b.t.Fatalf("beginning a login: %d %s", got.code, got.body)
	}
	return b.c.provider.LogIn(b.t, b.Client, got.header.Get("Location"), user)
}

func (b *browser) logsIn(user string) {
	b.t.Helper()
	if got := b.asks("cross-site", "GET", b.begins(user).RequestURI(), ""); got.code != http.StatusSeeOther || got.header.Get("Location") != "/ui/jobs" {
		b.t.Fatalf("%s logs in: %d %s", user, got.code, got.body)
	}
	if got := b.asks("same-origin", "GET", "/ui/session", ""); !strings.Contains(got.body, user+"@example.com") {
		b.t.Fatalf("the session of %s: %d %s", user, got.code, got.body)
	}
}

func (b *browser) wants(code int, from, method, path, body string) answer {
	b.t.Helper()
	got := b.asks(from, method, path, body)
	if got.code != code {
		b.t.Errorf("%s %s from %s: %d %.300s, want %d", method, path, from, got.code, got.body, code)
	}
	return got
}

const clustersOfA = "/apis/v2/namespaces/" + teamA + "/clusters"

// People log in with the provider and have the rights of their groups, as long as the provider says so. No token is in an answer, in the log or in a span.
func TestLogin(t *testing.T) {
	c := startCompany(t)
	ada, ben, leaver, stranger := c.browser(t), c.browser(t), c.browser(t), c.browser(t)
	await.True(t, "the keys of the provider", func() bool { // which the gateway fetches in the background
		return stranger.asks("cross-site", "GET", stranger.begins("ada").RequestURI(), "").code == http.StatusSeeOther
	})
	stranger = c.browser(t)

	t.Run("rights", func(t *testing.T) {
		ada.logsIn("ada")
		ben.logsIn("ben")
		ada.wants(http.StatusCreated, "same-origin", "POST", clustersOfA, clusterJSON("of-ada", 8265, ""))
		ben.wants(http.StatusOK, "same-origin", "GET", clustersOfA, "")
		ben.wants(http.StatusForbidden, "same-origin", "POST", clustersOfA, clusterJSON("of-ben", 8265, ""))
		ben.wants(http.StatusForbidden, "same-origin", "GET", "/apis/v2/namespaces/"+teamB+"/clusters", "")
	})
	t.Run("answers of the provider", func(t *testing.T) { attackAnswers(t, c, stranger) })
	t.Run("cookie of another origin", func(t *testing.T) {
		for _, from := range []string{"cross-site", "same-site"} {
			ada.wants(http.StatusForbidden, from, "POST", clustersOfA, clusterJSON("forged", 8265, ""))
			ada.wants(http.StatusForbidden, from, "GET", clustersOfA, "")
			ada.wants(http.StatusForbidden, from, "DELETE", "/ui/session", "")
			ada.wants(http.StatusForbidden, from, "GET", "/oauth2/login", "")
		}
		ada.wants(http.StatusUnauthorized, "none", "GET", clustersOfA, "")
	})
	left := "" // the page of a session that has ended; empty if heads cannot be reached
	t.Run("dashboard", func(t *testing.T) {
		_, address := podaddress.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("page of ada"))
			if r.URL.Path == "/follow" {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
		}))
		newHead(t, teamA, "shown", "", address)
		await.True(t, "the keys on the other replica", func() bool { return ada.elsewhere().asks("same-origin", "GET", clustersOfA, "").code == http.StatusOK })
		leaver.logsIn("ada")
		page, other := leaver.page(), ada.page()
		for _, at := range []*browser{leaver, leaver.elsewhere()} {
			if got := at.wants(http.StatusOK, "none", "GET", page, ""); !strings.Contains(got.body, "page of ada") {
				t.Errorf("the page: %s", got.body)
			}
		}
		stranger.wants(http.StatusUnauthorized, "none", "GET", page, "")
		open, err := leaver.Get(c.url + page + "follow")
		must(t, err)
		if open.StatusCode != http.StatusOK {
			t.Fatalf("an open call of the page: %s", open.Status)
		}
		defer func() { _ = open.Body.Close() }()
		// It ends with the session of its browser, and no other does.
		leaver.wants(http.StatusOK, "same-origin", "DELETE", "/ui/session", "")
		if got := leaver.wants(http.StatusUnauthorized, "none", "GET", page, ""); !strings.Contains(got.body, "SESSION_ENDED") {
			t.Errorf("the page after the logout: %s", got.body)
		}
		ada.wants(http.StatusOK, "none", "GET", other, "")
		_, _ = io.Copy(io.Discard, open.Body) // returns when the gateway ends the call
		left = page
	})
	t.Run("renewal with a new key", func(t *testing.T) {
		c.provider.Control(t, "rotate", nil)
		before := ada.session()
		await.True(t, "a renewal", func() bool {
			ada.wants(http.StatusOK, "same-origin", "GET", clustersOfA, "")
			return ada.session() != before
		})
	})
	t.Run("end", func(t *testing.T) { testEnd(t, c, ada, ben) })
	await.True(t, "the end of a page on the other replica", func() bool {
		return left == "" || strings.Contains(leaver.elsewhere().asks("none", "GET", left, "").body, "SESSION_ENDED")
	})

	log, err := os.ReadFile(c.Log)
	must(t, err)
	if !strings.Contains(string(log), "ada@example.com") {
		t.Error("the audit log does not name ada")
	}
	other, err := os.ReadFile(c.provider.Log)
	must(t, err)
	second, err := os.ReadFile(c.replica.Log)
	must(t, err)
	secret := regexp.MustCompile(`eyJ[\w-]+|secret-of-the-console|(?:code|state|nonce|refresh_token)=[\w-]{10,}`)
	for where, text := range map[string]string{
		"the spans": stage.spans.String(), "the log": string(log), "the log of the other replica": string(second), "the log of the provider": string(other), "the answers": c.seen.String(),
	} {
		if found := secret.FindString(text); found != "" {
			t.Errorf("%s have %.20q", where, found)
		}
	}
}

// page returns the path of the dashboard of the cluster shown.
func (b *browser) page() string {
	b.t.Helper()
	var ticket struct{ Path string }
	got := b.wants(http.StatusOK, "same-origin", "POST", clustersOfA+"/shown/dashboard:ticket", "")
	must(b.t, json.Unmarshal([]byte(got.body), &ticket))
	return ticket.Path
}

// session returns the sealed session of the browser.
func (b *browser) session() string {
	u, err := url.Parse(b.c.url)
	must(b.t, err)
	for _, cookie := range b.Jar.Cookies(u) {
		if cookie.Name == "raygate-login-0" {
			return cookie.Value
		}
	}
	return ""
}

// attackAnswers sends answers of the provider that do not belong to a login of the browser.
func attackAnswers(t *testing.T, c *company, stranger *browser) {
	victim, thief := c.browser(t), c.browser(t)
	back := victim.begins("ada")
	wrong := *back
	q := back.Query()
	q.Set("state", "guessed")
	wrong.RawQuery = q.Encode()
	for name, attempt := range map[string]struct {
		*browser
		*url.URL
	}{"a browser without a login": {stranger, back}, "another browser": {thief, back}, "a guessed state": {victim, &wrong}} {
		if attempt.browser == thief {
			thief.begins("ben")
		}
		got := attempt.asks("cross-site", "GET", attempt.RequestURI(), "")
		if got.code < 400 || got.code >= 500 || attempt.session() != "" {
			t.Errorf("%s: %d %s", name, got.code, got.body)
		}
	}
	replayed := c.browser(t)
	back = replayed.begins("ada")
	request := replayed.Jar.Cookies(back)
	replayed.wants(http.StatusSeeOther, "cross-site", "GET", back.RequestURI(), "")
	again := c.browser(t)
	again.Jar.SetCookies(back, request)
	if again.wants(http.StatusUnauthorized, "cross-site", "GET", back.RequestURI(), ""); again.session() != "" {
		t.Error("a replayed code makes a session")
	}
	// The provider ends what a code used twice has made, or not; either way there is one session at most.
	stranger.wants(http.StatusUnauthorized, "same-origin", "GET", clustersOfA, "")
	victim.logsIn("ada")
	for _, query := range []url.Values{nil, {"iss": {c.provider.URL}, "sid": {""}}, {"iss": {c.provider.URL}, "sid": {"guessed"}}} { // front-channel logouts of nobody
		thief.wants(http.StatusOK, "cross-site", "GET", "/oauth2/logout?"+query.Encode(), "")
	}
	victim.wants(http.StatusOK, "same-origin", "GET", clustersOfA, "")
	for _, forged := range []string{"", "x", "eyJhbGciOiJub25lIn0.e30."} {
		got := send(t, plain, "POST", c.url+"/oauth2/logout", url.Values{"logout_token": {forged}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		if got.code != http.StatusBadRequest {
			t.Errorf("a forged logout token: %d %s", got.code, got.body)
		}
	}
}

// testEnd ends sessions in every way.
func testEnd(t *testing.T, c *company, ada, ben *browser) {
	// By back-channel logout, at once.
	c.provider.Control(t, "end", url.Values{"user": {"ben"}, "notify": {"true"}})
	if got := ben.wants(http.StatusUnauthorized, "same-origin", "GET", clustersOfA, ""); !strings.Contains(got.body, "SESSION_ENDED") {
		t.Errorf("after a logout token: %s", got.body)
	}
	if got := ben.wants(http.StatusOK, "same-origin", "GET", "/ui/session", ""); ben.session() != "" || !strings.Contains(got.body, "has ended") {
		t.Errorf("after the end: %s", got.body)
	}
	// By the provider without a word, at the next renewal.
	ben.logsIn("ben")
	c.provider.Control(t, "end", url.Values{"user": {"ben"}})
	await.True(t, "the end of a session", func() bool { return ben.asks("same-origin", "GET", clustersOfA, "").code == http.StatusUnauthorized })
	// While the provider is away sessions go on, and logins fail with a reason.
	late := c.browser(t)
	back := late.begins("ben")
	ada.wants(http.StatusOK, "same-origin", "GET", clustersOfA, "")
	c.provider.Control(t, "away", url.Values{"on": {"true"}})
	ada.wants(http.StatusOK, "same-origin", "GET", clustersOfA, "")
	if got := late.wants(http.StatusServiceUnavailable, "cross-site", "GET", back.RequestURI(), ""); !strings.Contains(got.body, "the identity provider does not answer") {
		t.Errorf("a login while the provider is away: %s", got.body)
	}
	c.provider.Control(t, "away", url.Values{"on": {"false"}})
	// By its user: also at the provider, which asks for the password again.
	old := ada.session()
	got := ada.wants(http.StatusOK, "same-origin", "DELETE", "/ui/session", "")
	var ended struct{ LogoutURL string }
	must(t, json.Unmarshal([]byte(got.body), &ended))
	if !strings.HasPrefix(ended.LogoutURL, c.provider.URL) || ada.session() != "" {
		t.Fatalf("logout: %s", got.body)
	}
	resp, err := ada.Get(ended.LogoutURL)
	must(t, err)
	_ = resp.Body.Close()
	if resp.Header.Get("Location") != c.url+"/ui/" {
		t.Errorf("the provider leads to %q", resp.Header.Get("Location"))
	}
	ada.wants(http.StatusUnauthorized, "same-origin", "GET", clustersOfA, "")
	u, err := url.Parse(c.url)
	must(t, err)
	ada.Jar.SetCookies(u, []*http.Cookie{{Name: "raygate-login-0", Value: old}})
	ada.wants(http.StatusUnauthorized, "same-origin", "GET", clustersOfA, "")
}
