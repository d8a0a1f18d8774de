package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/raygate/raygate/test/console/internal/browser"
	"github.com/raygate/raygate/test/console/internal/product"
)

// usage is the gateway's usage in a period.
type usage struct {
	memory  float64 // MiB
	cpu     float64 // of one processor
	changes int
}

func measure(ctx context.Context, o options) error {
	chromium, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer chromium.Stop()
	p, err := product.Start(ctx)
	if err != nil {
		return err
	}
	defer p.Stop()
	ns, err := p.Namespace(ctx, "pages-")
	if err != nil {
		return err
	}
	token, err := p.User(ctx, ns, "user", "cluster-admin", true)
	if err != nil {
		return err
	}
	if err := makeClusters(ctx, p, ns, o.clusters); err != nil {
		return err
	}
	before, err := watch(ctx, p, ns, o, 1)
	if err != nil {
		return err
	}
	opened := &pages{url: p.URL, namespace: ns, token: token}
	defer opened.close()
	if err := opened.open(ctx, chromium, o); err != nil {
		return err
	}
	opened.arrived.Store(0)
	after, err := watch(ctx, p, ns, o, 1+before.changes+o.clusters)
	if err != nil {
		return err
	}
	return opened.print(o, before, after)
}

// watch measures for a period, while clusters change, to numbers of from and more.
func watch(ctx context.Context, p *product.Product, ns string, o options, from int) (usage, error) {
	stop := changes(ctx, p, ns, o, from)
	select {
	case <-time.After(2 * time.Second): // lets new pages settle
	case <-ctx.Done():
	}
	begin, first := time.Now(), 0.0
	u := usage{}
	_, first, err := gatewayUses(p)
	if err == nil {
		select {
		case <-time.After(o.period):
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil {
		var last float64
		u.memory, last, err = gatewayUses(p)
		u.cpu = (last - first) / time.Since(begin).Seconds()
	}
	count, failed := stop()
	u.changes = count
	if err == nil {
		err = failed
	}
	return u, err
}

// pages are the open pages of a namespace in a gateway.
type pages struct {
	url, namespace, token string

	tabs    []*browser.Page
	clients int
	watches int // that the clients have open
	arrived atomic.Int64
	cancel  context.CancelFunc // ends the clients
}

func (a *pages) close() {
	if a.cancel != nil {
		a.cancel()
	}
	for _, tab := range a.tabs {
		tab.Close()
	}
}

// open opens the tabs, and then as many clients as there are to be pages. A client repeats the requests of the first or second tab: of a list, or
// of a cluster. After an error, close closes those that are open.
func (a *pages) open(ctx context.Context, chromium *browser.Browser, o options) error {
	ctx, a.cancel = context.WithCancel(ctx)
	paths := []func(int) string{
		func(int) string { return "/ui/clusters?namespace=" + a.namespace },
		func(i int) string { return "/ui/namespaces/" + a.namespace + "/clusters/" + nameOf(i%o.clusters) },
	}
	for i := range o.tabs {
		tab, err := openTab(chromium, a.url, paths[i%2](i), a.token)
		if err != nil {
			return err
		}
		a.tabs = append(a.tabs, tab)
	}
	cookies, err := cookiesOf(a.tabs[0])
	if err != nil {
		return err
	}
	asked := [][]string{requestsOf(a.tabs[0], a.url), requestsOf(a.tabs[1], a.url)}
	for i := o.tabs; i < o.pages; i++ {
		requests := make([]string, 0, len(asked[i%2]))
		for _, path := range asked[i%2] {
			path = strings.ReplaceAll(path, nameOf(1), nameOf(i%o.clusters))
			requests = append(requests, path)
			if strings.Contains(path, ":watch") {
				a.watches++
			}
		}
		if err := newVisitor(a.url, cookies, &a.arrived).open(ctx, requests); err != nil {
			return err
		}
		a.clients++
	}
	return nil
}

// openTab opens a page in a profile of its own, with a login. It loads the page again after the login, whose requests are not those of a
// page.
func openTab(chromium *browser.Browser, base, path, token string) (*browser.Page, error) {
	tab, err := chromium.Open(browser.Options{})
	if err != nil {
		return nil, err
	}
	steps := []func() error{
		func() error { return tab.Go(base + "/ui/login") },
		func() error { return tab.Fill("textbox", "Token", token) },
		func() error { return tab.Click("button", "Log in") },
		func() error { return tab.Wait(func() error { return isLive(tab) }) },
		func() error { tab.Forget(); return tab.Go(base + path) },
		func() error { return tab.Wait(func() error { return isLive(tab) }) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			tab.Close()
			return nil, fmt.Errorf("opening %s: %w", path, err)
		}
	}
	return tab, nil
}

// isLive returns an error unless a page has received all that it asks for except its watch.
func isLive(tab *browser.Page) error {
	text, err := tab.Text()
	if err != nil {
		return err
	}
	if open := tab.InFlight(); !strings.Contains(text, "Live") || len(open) != 1 {
		return fmt.Errorf("not all has arrived: %q", open)
	}
	return nil
}

func cookiesOf(tab *browser.Page) ([]*http.Cookie, error) {
	all, err := tab.Cookies()
	if err != nil {
		return nil, err
	}
	var cookies []*http.Cookie
	for _, c := range all {
		cookies = append(cookies, &http.Cookie{Name: c.Name, Value: c.Value})
	}
	return cookies, nil
}

// requestsOf are the requests that a tab has sent to the gateway, with its watch as the last.
func requestsOf(tab *browser.Page, base string) []string {
	var short, watches []string
	for _, url := range tab.URLs() {
		path, ours := strings.CutPrefix(url, base)
		switch {
		case !ours:
		case strings.Contains(path, ":watch"):
			watches = append(watches, path)
		default:
			short = append(short, path)
		}
	}
	return append(short, watches...)
}

// gatewayUses returns the memory of the gateway in MiB and the processor time that it has used so far in seconds, by its own metrics.
func gatewayUses(p *product.Product) (memory, cpu float64, err error) {
	resp, err := http.Get(p.Metrics)
	if err != nil {
		return 0, 0, fmt.Errorf("reading metrics: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	values, err := readMetrics(resp.Body, "process_resident_memory_bytes", "process_cpu_seconds_total")
	return values[0] / (1 << 20), values[1], err
}

// print prints the table, and fails when a page has more than one stream open.
func (a *pages) print(o options, before, after usage) error {
	most, sum := 0, a.watches
	for _, tab := range a.tabs {
		open := 0
		for _, url := range tab.InFlight() {
			if strings.Contains(url, ":watch") {
				open++
			}
		}
		most, sum = max(most, open), sum+open
	}
	if a.clients > 0 {
		most = max(most, (a.watches+a.clients-1)/a.clients)
	}
	fmt.Printf("%d of the pages are tabs of Chromium, each in a profile of its own; %d are HTTP clients that repeat the requests of such a tab on connections of their own.\n\n", len(a.tabs), a.clients)
	fmt.Printf("| what | 0 pages | %d pages |\n|---|---|---|\n", o.pages)
	fmt.Printf("| streams open, all pages; of one page at most | 0; 0 | %d; %d |\n", sum, most)
	fmt.Printf("| memory of the gateway | %.0f MiB | %.0f MiB |\n", before.memory, after.memory)
	fmt.Printf("| processor time of the gateway, at %.3g changes in a second of %d clusters | %.1f %% of one core | %.1f %% |\n", o.rate, o.clusters, 100*before.cpu, 100*after.cpu)
	fmt.Printf("| changes meanwhile; received by the clients | %d; – | %d; %.1f MiB |\n", before.changes, after.changes, float64(a.arrived.Load())/(1<<20))
	if most > 1 {
		fmt.Fprintln(os.Stderr)
		return fmt.Errorf("a page has %d streams open", most)
	}
	return nil
}
