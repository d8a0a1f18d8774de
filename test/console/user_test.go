package console

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/raygate/raygate/test/console/internal/axe"
	"github.com/raygate/raygate/test/console/internal/browser"
)

// user is somebody with a browser. What does not work out ends the test.
type user struct {
	t     *testing.T
	page  *browser.Page
	token string
	// expected are parts of what the browser writes about answers that the test provokes; all else is a failure.
	expected []string
	// patience bounds the wait for a text.
	patience time.Duration
	// sites are the base URLs that the browser may ask beside the gateway.
	sites []string
}

// arrives opens a browser for somebody with a token, who has not logged in yet.
func arrives(t *testing.T, token string) *user {
	t.Helper()
	page, err := stage.chromium.Open(browser.Options{})
	if err != nil {
		t.Fatal(err)
	}
	u := &user{t: t, page: page, token: token, patience: browser.Settle}
	t.Cleanup(func() {
		u.leave()
		page.Close()
	})
	return u
}

// comesTo is arrives, with a login by way of the page of a path.
func comesTo(t *testing.T, token, path string) *user {
	t.Helper()
	u := arrives(t, token)
	u.goTo(path)
	u.logIn(token)
	u.isAt(path)
	return u
}

func (u *user) logIn(token string) {
	u.t.Helper()
	u.fill("textbox", "Token", token)
	u.click("button", "Log in")
}

// jwt matches tokens of Kubernetes and of identity providers.
var jwt = regexp.MustCompile(`eyJ[\w-]+\.eyJ`)

// leave checks what holds for every visit.
func (u *user) leave() {
	if u.t.Failed() {
		text, _ := u.page.Text()
		at, _ := u.page.URL()
		u.t.Logf("the page %s reads:\n%s\nrequests in flight: %q", at, text, u.page.InFlight())
		u.save(strings.ReplaceAll(u.t.Name(), "/", "-")+"-failed", 1280, true)
	}
	for _, problem := range u.page.Problems() {
		u.t.Errorf("the browser reports %s", problem)
	}
	for _, answer := range u.page.Answers() {
		if !slices.ContainsFunc(u.expected, func(part string) bool { return strings.Contains(answer, part) }) {
			u.t.Errorf("the browser reports %s", answer)
		}
	}
	for _, url := range u.page.URLs() {
		if !slices.ContainsFunc(u.sites, func(site string) bool { return strings.HasPrefix(url, site+"/") }) && !strings.HasPrefix(url, stage.URL+"/") && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "blob:"+stage.URL+"/") {
			u.t.Errorf("a request to another host: %s", url)
		}
		if u.token != "" && strings.Contains(url, u.token) || jwt.MatchString(url) {
			u.t.Errorf("a token is in the URL of a request")
		}
	}
	var kept string
	if err := u.page.Run(`JSON.stringify([location.href, document.documentElement.outerHTML, [...document.querySelectorAll('input, textarea')].map((e) => e.value),
		document.cookie, {...localStorage}, {...sessionStorage}, history.state])`, &kept); err != nil {
		u.t.Errorf("reading what the page keeps: %v", err)
	}
	if u.token != "" && strings.Contains(kept, u.token) || jwt.MatchString(kept) {
		u.t.Errorf("a token is in the page or in its storage")
	}
}

// expects names what the browser writes about answers that the test provokes, as in "status of 400".
func (u *user) expects(parts ...string) { u.expected = append(u.expected, parts...) }

func (u *user) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatal(err)
	}
}

func (u *user) goTo(path string) {
	u.t.Helper()
	u.must(u.page.Go(stage.URL + path))
}

func (u *user) click(role, name string) {
	u.t.Helper()
	u.must(u.page.Click(role, name))
}

func (u *user) fill(role, name, value string) {
	u.t.Helper()
	u.must(u.page.Fill(role, name, value))
}

func (u *user) press(keys ...string) {
	u.t.Helper()
	u.must(u.page.Press(keys...))
}

// finds waits for what has the role and the name.
func (u *user) finds(role, name string) browser.Thing {
	u.t.Helper()
	thing, err := u.page.One(role, name)
	u.must(err)
	return thing
}

// findsNo fails the test if there is now anything with the role and the name.
func (u *user) findsNo(role, name string) {
	u.t.Helper()
	things, err := u.page.Find(role, name)
	u.must(err)
	if len(things) > 0 {
		u.t.Errorf("there is a %s %q", role, things[0].Name)
	}
}

// hasFocus waits until what has the role and the name has the focus.
func (u *user) hasFocus(role, name string) {
	u.t.Helper()
	u.must(u.page.Wait(func() error {
		f, err := u.page.Focused()
		if err == nil && (f.Role != role || f.Name != name) {
			err = fmt.Errorf("the focus is on %s %q", f.Role, f.Name)
		}
		return err
	}))
}

// sees waits until all texts can be read on the page.
func (u *user) sees(texts ...string) {
	u.t.Helper()
	u.must(u.page.WaitFor(u.patience, func() error {
		now, err := u.page.Text()
		if err != nil {
			return err
		}
		for _, text := range texts {
			if !strings.Contains(now, text) {
				return fmt.Errorf("the page does not say %q", text)
			}
		}
		return nil
	}))
}

// seesNoMore waits until none of the texts can be read on the page.
func (u *user) seesNoMore(texts ...string) {
	u.t.Helper()
	u.must(u.page.Wait(func() error {
		now, err := u.page.Text()
		if err != nil {
			return err
		}
		for _, text := range texts {
			if strings.Contains(now, text) {
				return fmt.Errorf("the page still says %q", text)
			}
		}
		return nil
	}))
}

// isAt waits until the page has the path, and the query if there is one in it.
func (u *user) isAt(path string) {
	u.t.Helper()
	u.must(u.page.Wait(func() error {
		at, err := u.page.URL()
		if err != nil {
			return err
		}
		if !strings.Contains(path, "?") {
			at, _, _ = strings.Cut(at, "?")
		}
		if at != path {
			return fmt.Errorf("the page is %s, not %s", at, path)
		}
		return nil
	}))
}

// rows returns the names of the objects in the table, in its order.
func (u *user) rows() []string {
	u.t.Helper()
	things, err := u.page.Find("rowheader", "")
	u.must(err)
	var names []string
	for _, t := range things {
		names = append(names, t.Name)
	}
	return names
}

// hasRows waits until the table has these rows in this order.
func (u *user) hasRows(names ...string) {
	u.t.Helper()
	u.must(u.page.Wait(func() error {
		if got := u.rows(); !slices.Equal(got, names) {
			return fmt.Errorf("the rows are %q, not %q", got, names)
		}
		return nil
	}))
}

// looks holds the page as it is now to the eyes of all: wide and narrow, light and dark, axe-core has nothing serious to say, and nothing has to be scrolled
// sideways. It keeps pictures of it.
func (u *user) looks(name string) {
	u.t.Helper()
	for _, width := range []int64{1280, 390} {
		u.must(u.page.Size(width, 844))
		for _, theme := range []string{"light", "dark"} {
			u.must(u.page.Media(theme == "dark"))
			u.must(u.page.Run(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`, nil))
			label := fmt.Sprintf("%s-%d-%s", name, width, theme)
			u.save(label, width, true)
			findings, err := axe.Check(u.page)
			u.must(err)
			for _, f := range findings {
				if f.Grave() {
					u.t.Errorf("%s: %s", label, f)
				} else {
					u.t.Logf("%s: %s", label, f)
				}
			}
		}
		var wide string
		u.must(u.page.Run(`(() => {
			const root = document.documentElement;
			if (root.scrollWidth <= root.clientWidth) return '';
			const out = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1).slice(0, 3);
			return root.scrollWidth + ' pixels: ' + out.map((e) => e.outerHTML.slice(0, 120)).join(' | ');
		})()`, &wide))
		if wide != "" {
			u.t.Errorf("%s at %d pixels has to be scrolled sideways, it has %s", name, width, wide)
		}
	}
	u.must(u.page.Size(1280, 800))
	u.must(u.page.Media(false))
	u.keep(name+".pdf", func() ([]byte, error) { return u.page.Print(1280, 800) })
}

func (u *user) save(name string, width int64, whole bool) {
	u.keep(name+".png", func() ([]byte, error) { return u.page.Picture(width, whole) })
}

// keep writes a picture, if pictures are asked for.
func (u *user) keep(file string, take func() ([]byte, error)) {
	if pictures == "" {
		return
	}
	data, err := take()
	if err == nil {
		err = os.MkdirAll(pictures, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(pictures, file), data, 0o600)
	}
	if err != nil {
		u.t.Errorf("taking a picture: %v", err)
	}
}
