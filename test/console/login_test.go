package console

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chromedp/cdproto/network"
)

// A deep link leads to the login and back; a token that Kubernetes does not know is refused; the session is a cookie that no script reads; after logging out
// there is none.
func TestLogin(t *testing.T) {
	t.Parallel()
	u := arrives(t, stage.admin)
	u.expects("status of 401")
	u.goTo("/ui/jobs?filter=train")
	u.isAt("/ui/login")
	u.finds("button", "Log in")
	u.looks("login")

	u.logIn("not-a-token")
	u.finds("alert", "")
	u.sees("Not logged in.")
	u.looks("login-refused")

	u.logIn(stage.admin)
	u.isAt("/ui/jobs?filter=train")
	u.finds("heading", "Jobs")
	cookies, err := u.page.Cookies()
	u.must(err)
	found := false
	for _, c := range cookies {
		found = found || strings.Contains(c.Value, stage.admin) || strings.Contains(stage.admin, c.Value)
		if !c.HTTPOnly || c.SameSite != network.CookieSameSiteStrict {
			t.Errorf("the cookie %s is HttpOnly: %t, SameSite: %s", c.Name, c.HTTPOnly, c.SameSite)
		}
	}
	if !found {
		t.Errorf("none of the cookies %v is a session", cookies)
	}

	u.click("button", "Who you are")
	u.sees("system:serviceaccount:default:admin")
	u.looks("who")
	u.click("button", "Log out")
	u.isAt("/ui/login")
	var status int
	u.must(u.page.Run(`fetch('/apis/v2/clusters').then((r) => r.status)`, &status))
	if status != 401 {
		t.Errorf("after logging out the API answers %d", status)
	}
}

// A token that ends while a page is open leads to the login, and from there back to the page.
func TestTokenEnds(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	token, err := stage.User(t.Context(), ns, "leaver", "cluster-admin", true)
	if err != nil {
		t.Fatal(err)
	}
	createStill(t, ns, still{name: "lasting", ready: true})
	page := "/ui/namespaces/" + ns + "/clusters/lasting"
	u := comesTo(t, token, page)
	u.expects("status of 401")
	u.finds("heading", "lasting")
	u.must(stage.Client.Delete(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "leaver"}}))

	u.must(u.page.Wait(func() error { // whichever call is the first that Kubernetes refuses
		// Without waiting for the link, which is gone on the login page.
		u.must(u.page.Run(`document.querySelector('nav.tabs a:not([aria-current])')?.click()`, nil))
		at, err := u.page.URL()
		if err == nil && !strings.HasPrefix(at, "/ui/login") {
			err = errNotThere
		}
		return err
	}))
	u.looks("token-ended")
	u.logIn(stage.admin)
	u.isAt(page)
	u.finds("heading", "lasting")
}
