package console

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

var errNotThere = errors.New("the page is still another")

func TestNothingYet(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	u := comesTo(t, stage.admin, "/ui/clusters?namespace="+ns)
	u.sees("No clusters in " + ns)
	u.looks("empty")
	for _, kind := range []string{"Jobs", "Services", "Cron jobs"} {
		u.click("link", kind)
		u.finds("heading", kind)
		u.sees("No ")
	}
	u.goTo("/ui/nonsense")
	u.sees("There is no such page")
	u.looks("no-page")
	u.goTo("/ui/namespaces/" + ns + "/clusters/gone")
	u.sees("There is no cluster gone")
	u.looks("no-object")
}

// Filter, sort, deep links and keys, on a table that lives.
func TestList(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	createStill(t, ns, still{name: "alpha", ready: true, workers: 3, version: "2.52.0"}, still{name: "beta", workers: 1, version: "2.53.0"}, still{name: "gamma", ready: true, workers: 10, version: "2.54.0"})
	u := comesTo(t, stage.admin, "/ui/clusters?namespace="+ns)
	u.hasRows("alpha", "beta", "gamma")
	u.looks("list")

	u.press("/")
	u.hasFocus("searchbox", "Filter clusters")
	u.press("2", ".", "5", "3")
	u.hasRows("beta")
	u.isAt("/ui/clusters?namespace=" + ns + "&filter=2.53")
	u.press(kb.Escape)
	u.hasRows("alpha", "beta", "gamma")
	u.fill("searchbox", "Filter", "no such thing")
	u.sees("Nothing fits the filter")
	u.looks("list-nothing-fits")
	u.click("button", "Show all")

	u.click("button", "Workers")
	u.hasRows("beta", "alpha", "gamma")
	u.click("button", "Workers")
	u.hasRows("gamma", "alpha", "beta")
	u.isAt("/ui/clusters?namespace=" + ns + "&sort=-workers")
	if h := u.finds("columnheader", "Workers"); h.Name == "" {
		t.Error("the column has no name")
	}

	createStill(t, ns, still{name: "delta", ready: true, workers: 5, version: "2.52.0"})
	u.hasRows("gamma", "delta", "alpha", "beta") // without loading anything
	u.press("j", "j")
	if f, err := u.page.Focused(); err != nil || f.Name != "delta" {
		t.Errorf("after j j the focus is on %q: %v", f.Name, err)
	}
	u.press("k", kb.Enter)
	u.isAt("/ui/namespaces/" + ns + "/clusters/gamma")
	u.must(u.page.Run(`history.back()`, nil))
	u.hasRows("gamma", "delta", "alpha", "beta") // the sort is in the URL

	u.press("?")
	u.finds("dialog", "Keys")
	u.looks("keys")
	u.press(kb.Escape)
	u.must(u.page.Wait(func() error { return absent(u, "dialog", "Keys") }))

	u.goTo("/ui/clusters?namespace=" + ns + "&filter=state:ready&sort=-name")
	u.hasRows("gamma", "delta", "alpha")
}

// Filter, sort and the choice of states work without a mouse, and each is a link that leads others to the same rows.
func TestListByKeyboard(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	createStill(t, ns, still{name: "node-9", ready: true, workers: 9, version: "2.52.0"}, still{name: "node-10", ready: true, workers: 1, version: "2.53.0"}, still{name: "other", workers: 5, version: "2.52.0"})
	list := "/ui/clusters?namespace=" + ns
	u := comesTo(t, stage.admin, list)
	u.hasRows("node-9", "node-10", "other") // numbers in names by their value

	u.press("/")
	u.hasFocus("searchbox", "Filter clusters")
	u.press("n", "o", "d", "e")
	u.hasRows("node-9", "node-10")
	u.press(kb.ArrowDown)
	u.hasFocus("link", "node-9")
	u.press("G")
	u.hasFocus("link", "node-10")
	u.press("g")
	u.hasFocus("link", "node-9")

	u.must(u.page.Focus("button", "Workers"))
	u.press(kb.Enter)
	u.hasRows("node-10", "node-9")
	u.isAt(list + "&filter=node&sort=workers")
	u.press(kb.Enter)
	u.hasRows("node-9", "node-10")
	u.isAt(list + "&filter=node&sort=-workers")
	var sorted string
	u.must(u.page.Run(`[...document.querySelectorAll('th[aria-sort]')].map((e) => e.getAttribute('aria-sort') + ' by ' + e.querySelector('button').firstChild.data).join()`, &sorted))
	if sorted != "descending by Workers" {
		t.Errorf("screen readers hear that the table is sorted %q", sorted)
	}
	u.must(u.page.Focus("searchbox", "Filter"))
	u.press(kb.Escape)
	u.hasRows("node-9", "other", "node-10")

	u.must(u.page.Focus("button", "1 failing"))
	u.press(" ")
	u.hasRows("other")
	u.isAt(list + "&sort=-workers&show=error")
	if b := u.finds("button", "1 failing"); b.States["pressed"] == "" {
		t.Errorf("the button of what is shown is not pressed: %v", b.States)
	}
	u.looks("list-failing")
	u.goTo(list + "&sort=-workers&show=error") // as somebody who got the link
	u.hasRows("other")
	u.goTo(list + "&filter=version:2.52&sort=-name&show=ok")
	u.hasRows("node-9")
	u.goTo(list + "&filter=!node&sort=nonsense&show=nonsense")
	u.hasRows("other")
}

func absent(u *user, role, name string) error {
	things, err := u.page.Find(role, name)
	if err == nil && len(things) > 0 {
		err = fmt.Errorf("there is a %s %q", role, things[0].Name)
	}
	return err
}

// A thousand clusters are loaded, filtered and changed while one looks.
func TestThousandRows(t *testing.T) {
	ns := namespace(t)
	var all []still
	for i := range 1000 {
		all = append(all, still{name: fmt.Sprintf("cluster-%04d", i), ready: i%7 != 0, workers: int32(i % 12), version: []string{"2.52.0", "2.53.0"}[i%2]})
	}
	createStill(t, ns, all...)
	u := comesTo(t, stage.admin, "/ui/clusters?namespace="+ns)
	begin := time.Now()
	u.goTo("/ui/clusters?namespace=" + ns)
	u.sees("1,000 clusters")
	t.Logf("1,000 rows were there after %s", time.Since(begin).Round(time.Millisecond))
	u.save("thousand-1280-light", 1280, false)
	begin = time.Now()
	u.fill("searchbox", "Filter", "0777")
	u.hasRows("cluster-0777")
	t.Logf("filtered after %s", time.Since(begin).Round(time.Millisecond))
	u.fill("searchbox", "Filter", "")
	u.sees("1,000 clusters")
	u.must(u.page.Size(390, 844))
	u.save("thousand-390-light", 390, false)
	u.must(u.page.Size(1280, 800))

	var longest float64
	u.must(u.page.Run(`(window.longest = 0, new PerformanceObserver((l) => l.getEntries().forEach((e) => { window.longest = Math.max(window.longest, e.duration); })).observe({type: 'longtask'}), 0)`, nil))
	createStill(t, ns, still{name: "aaa-first", ready: true, version: "2.52.0"})
	u.sees("1,001 clusters", "aaa-first")
	u.must(u.page.Run(`window.longest`, &longest))
	t.Logf("a new row kept the page busy for %.0f ms", longest)
}
