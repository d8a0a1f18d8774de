package console

import (
	"encoding/base64"
	"fmt"
	neturl "net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/internal/testing/oidcprovider"
	"github.com/raygate/raygate/test/console/internal/browser"
)

// Whatever is wrong with the answer of a provider or its token, the browser shows a reason and has no session. The right answer makes one, of which a page of
// another site has nothing.
func TestAttacksOnProviderLogin(t *testing.T) {
	t.Parallel()
	ns, p, stranger := namespace(t), oidcprovider.New(t), oidcprovider.New(t)
	if err := stage.Client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ada"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "ada@example.com"}},
	}); err != nil {
		t.Fatal(err)
	}
	p.Mappings = "  claimMappings:\n    username: {claim: email, prefix: \"\"}\n" // without extra, which the shipped rights do not let the gateway impersonate
	config := filepath.Join(t.TempDir(), "authentication.yaml")
	if err := os.WriteFile(config, []byte(p.Config()), 0o600); err != nil {
		t.Fatal(err)
	}
	url, start := loginGateway(t)
	start(config, p.URL, "raygate")
	page, err := stage.chromium.Open(browser.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.Close)
	b := &attacked{t, page, url, url + "/oauth2/login?" + neturl.Values{"issuer": {p.URL}, "next": {plainPath}}.Encode()}
	b.logsIn() // which waits for the keys of the provider
	used := page.URLs()
	callback := used[slices.IndexFunc(used, func(u string) bool { return strings.HasPrefix(u, url+"/oauth2/callback?") })]
	b.hasSession(true)
	b.run(`fetch('/ui/session', {method: 'DELETE'}).then((r) => r.status)`, 200)
	b.hasSession(false)

	b.isRefused("a replayed answer", callback, "was not begun in this browser")
	const begin = `fetch(%q, {redirect: 'manual'}).then(() => 200)`
	b.run(fmt.Sprintf(begin, b.login), 200)
	b.isRefused("a wrong state", callback, "belongs to another login")
	now := time.Now()
	for name, claims := range map[string]map[string]any{
		"a wrong nonce": {"nonce": "other"}, "a wrong audience": {"aud": "other"}, "a wrong issuer": {"iss": stranger.URL},
		"an expired token": {"exp": now.Add(-time.Minute).Unix()}, "a future token": {"nbf": now.Add(2 * time.Minute).Unix()},
	} {
		p.Override(claims)
		b.isRefused(name, b.login, "the ID token")
	}
	p.Override(nil)
	p.SignBy(func(claims map[string]any) string {
		part := base64.RawURLEncoding
		return part.EncodeToString([]byte(`{"alg":"none"}`)) + "." + part.EncodeToString(p.Claims(t, claims)) + "."
	})
	b.isRefused("alg none", b.login, "the ID token is not accepted")
	p.SignBy(nil)

	b.logsIn()
	if read := forge(t, page, otherSite(t), url, ns); len(read) > 0 {
		t.Errorf("a page of another site reads %q", read)
	}
	isNotForged(t, ns)
	b.hasSession(true)
	b.run(fmt.Sprintf(`fetch('/apis/v2/namespaces/%s/clusters', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: %q}).then((r) => r.status)`, ns, forged), 201)
}

// attacked is a browser whose user logs in at a gateway.
type attacked struct {
	t          *testing.T
	page       *browser.Page
	url, login string
}

// run runs a script that returns the status of an answer.
func (b *attacked) run(script string, want int) {
	b.t.Helper()
	var status int
	if err := b.page.Run(script, &status); err != nil || status != want {
		b.t.Fatalf("%s: HTTP %d, %v", script, status, err)
	}
}

// logsIn logs in, as soon as the gateway has the keys of the provider.
func (b *attacked) logsIn() {
	b.t.Helper()
	err := b.page.Wait(func() error {
		if err := b.page.Go(b.login); err != nil {
			return err
		}
		if at, err := b.page.URL(); err != nil || strings.HasPrefix(at, "/oauth2/") {
			return errNotThere
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// plainPath is a path of the console without scripts, which would lead to other pages.
const plainPath = "/ui/app.css"

// hasSession opens the console and requires that there is a session, or none.
func (b *attacked) hasSession(want bool) {
	b.t.Helper()
	var got bool
	err := b.page.Go(b.url + plainPath)
	if err == nil {
		err = b.page.Run(`fetch('/ui/session').then((r) => r.json()).then((s) => s.authenticated)`, &got)
	}
	if err != nil || got != want {
		b.t.Fatalf("there is a session: %t, %v", got, err)
	}
}

// isRefused opens an address, and requires a page with a reason and no session.
func (b *attacked) isRefused(name, address, reason string) {
	b.t.Helper()
	if err := b.page.Go(address); err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	text := ""
	err := b.page.Wait(func() (err error) {
		if text, err = b.page.Text(); err == nil && !strings.Contains(text, "Log in again") { // the end of the page
			err = errNotThere
		}
		return err
	})
	if err != nil || !strings.Contains(text, "Not logged in") || !strings.Contains(text, reason) || strings.Contains(text, "eyJ") {
		b.t.Errorf("%s: the page reads %q, %v", name, text, err)
	}
	b.hasSession(false)
}
