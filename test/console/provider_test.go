package console

import (
	"fmt"
	neturl "net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chromedp/cdproto/network"

	"github.com/raygate/raygate/internal/testing/oidcprovider"
	"github.com/raygate/raygate/internal/testing/programs"
)

// loginGateway returns the URL of a gateway whose users log in with an identity provider, and what starts it with a client of an issuer.
func loginGateway(t *testing.T) (url string, start func(config, issuer, client string)) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ports, err := programs.FreePorts(3)
	must(err)
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	url = "http://" + at(1)
	return url, func(config, issuer, client string) {
		dir := t.TempDir()
		file := filepath.Join(dir, "login.yaml")
		must(os.WriteFile(file, []byte("redirectURL: "+url+"/oauth2/callback\nproviders: [{name: Company, issuerURL: '"+issuer+"', clientID: "+client+"}]\n"), 0o600))
		apply := exec.CommandContext(t.Context(), programs.Binary("k8s/kubectl"), "--kubeconfig", stage.Env.Kubeconfig, "apply", "--server-side", "-f", "../../apiserver/config/components/impersonate/role.yaml")
		if out, err := apply.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		kubeconfig, err := stage.Env.KubeconfigOf(t.Context(), dir, "raygate-system", "raygate-apiserver")
		must(err)
		gateway := &programs.Program{
			Path: programs.Binary("raygate-apiserver"), Log: filepath.Join(dir, "gateway.log"), Ready: url + "/readyz",
			Args: []string{"--kubeconfig", kubeconfig, "--grpc-address=" + at(0), "--http-address=" + at(1), "--metrics-address=" + at(2), "--use-kubernetes-proxy",
				"--authentication=impersonate", "--authentication-config=" + config, "--login-config=" + file},
		}
		must(gateway.Start())
		t.Cleanup(gateway.Stop)
	}
}

// startCompany starts a gateway whose users log in with an identity provider, and returns its URL. Members of ml-guests may read Ray objects.
func startCompany(t *testing.T) (string, *oidcprovider.Process) {
	t.Helper()
	url, start := loginGateway(t)
	provider := oidcprovider.Start(t, url, "-token-life=20s") // a session is renewed after half of it
	start(provider.Config(), provider.URL, "raygate-console")
	if err := stage.Client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "ml-guests"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "ray-reader"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "sso:ml-guests"}},
	}); err != nil {
		t.Fatal(err)
	}
	return url, provider
}

// A person logs in at the identity provider, is refused what the group may not do, and logs out here and there. In between the provider changes its key, and
// is away for a while.
func TestProviderLogin(t *testing.T) {
	t.Parallel()
	url, provider := startCompany(t)
	u := arrives(t, "")
	u.sites = []string{url, provider.URL}
	u.expects("status of 403", "status of 401", "favicon.ico")
	u.must(u.page.Go(url + "/ui/jobs?filter=train"))
	u.isAt("/ui/login")
	u.looks("login-provider")
	u.click("link", "Log in with Company")
	u.fill("textbox", "User", "ben")
	u.fill("textbox", "Password", "ben")
	u.click("button", "Sign in")
	u.isAt("/ui/jobs?filter=train")
	u.finds("heading", "Jobs")
	cookies, err := u.page.Cookies()
	u.must(err)
	sessions := 0
	for _, c := range cookies {
		if strings.Contains(c.Name, "raygate-login") {
			sessions++
			if !c.HTTPOnly || c.SameSite != network.CookieSameSiteStrict || strings.Contains(c.Value, "eyJ") {
				t.Errorf("the cookie %s is HttpOnly: %t, SameSite: %s", c.Name, c.HTTPOnly, c.SameSite)
			}
		}
	}
	if sessions == 0 {
		t.Errorf("none of the cookies %v is a session", cookies)
	}
	var read, write int
	u.must(u.page.Run(`fetch('/apis/v2/clusters').then((r) => r.status)`, &read))
	u.must(u.page.Run(`fetch('/apis/v2/namespaces/default/clusters/any', {method: 'DELETE'}).then((r) => r.status)`, &write))
	if read != 200 || write != 403 {
		t.Errorf("a read is answered with %d, a deletion with %d", read, write)
	}

	session := func() (value string) {
		cookies, err := u.page.Cookies()
		u.must(err)
		for _, c := range cookies {
			if c.Name == "raygate-login-0" {
				value = c.Value
			}
		}
		return value
	}
	before := session()
	provider.Control(t, "rotate", nil)
	u.must(u.page.Wait(func() error {
		u.must(u.page.Run(`fetch('/apis/v2/clusters').then((r) => r.status)`, &read))
		if session() == before {
			return errNotThere
		}
		return nil
	}))
	provider.Control(t, "away", neturl.Values{"on": {"true"}})
	var renewed int
	u.must(u.page.Run(`fetch('/apis/v2/clusters').then((r) => r.status)`, &renewed))
	provider.Control(t, "away", neturl.Values{"on": {"false"}})
	if read != 200 || renewed != 200 {
		t.Errorf("a read is answered with %d after the renewal of a session, and with %d while the provider is away", read, renewed)
	}
	u.finds("heading", "Jobs")

	u.click("button", "Who you are")
	u.sees("ben@example.com", "sso:ml-guests")
	u.click("button", "Log out")
	u.isAt("/ui/login")
	u.click("link", "Log in with Company")
	u.finds("textbox", "Password") // the provider asks again
}
