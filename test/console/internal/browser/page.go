package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Settle bounds every wait. It is generous, for slow machines: no test depends on speed.
const Settle = 90 * time.Second

// Options of a page.
type Options struct {
	// Width and Height of the window in CSS pixels; 0 means 1280 and 800.
	Width, Height int64
	// Dark means that the user prefers dark pages.
	Dark bool
}

// Page is a tab with its own profile, without cookies at first.
type Page struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	problems []string // errors in the console
	network  []string // error answers in the console
	urls     []string
	open     map[network.RequestID]string
	paused   func(fetch.RequestID) // answers intercepted requests
}

// Open opens an empty page. Close ends it.
func (b *Browser) Open(o Options) (*Page, error) {
	if o.Width == 0 {
		o.Width, o.Height = 1280, 800
	}
	p := &Page{open: map[network.RequestID]string{}}
	p.ctx, p.cancel = chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.record))
	err := errors.Join(
		chromedp.Do(p.ctx), // opens the tab, which lives as long as this context
		do(p, network.Enable, network.EnableParams{}), do(p, log.Enable, cdp.Empty{}), do(p, audits.Enable, cdp.Empty{}), do(p, accessibility.Enable, cdp.Empty{}),
		p.Size(o.Width, o.Height), p.Media(o.Dark),
	)
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("opening a page: %w", err)
	}
	return p, nil
}

// call sends a command of the protocol.
func call[P, R any](p *Page, command cdp.Command[P, R], params P) (R, error) {
	ctx, cancel := context.WithTimeout(p.ctx, Settle)
	defer cancel()
	return chromedp.Call(ctx, command, params)
}

// do is call for a command whose result is not needed.
func do[P, R any](p *Page, command cdp.Command[P, R], params P) error {
	_, err := call(p, command, params)
	return err
}

// Close closes the page.
func (p *Page) Close() { p.cancel() }

func (p *Page) record(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		p.recordCall(e)
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, "exception: "+described(e.ExceptionDetails))
	case *log.EventEntryAdded:
		p.recordEntry(e.Entry)
	case *audits.EventIssueAdded:
		if e.Issue.Code == audits.InspectorIssueCodeContentSecurityPolicyIssue {
			details := e.Issue.Details.ContentSecurityPolicyIssueDetails
			p.problems = append(p.problems, fmt.Sprintf("Content-Security-Policy: %s of %s", details.ContentSecurityPolicyViolationType, details.ViolatedDirective))
		}
	case *fetch.EventRequestPaused:
		go p.paused(e.RequestID) // which waits for an answer that is read after this event
	case *network.EventRequestWillBeSent:
		p.urls = append(p.urls, e.Request.URL)
		p.open[e.RequestID] = e.Request.URL
	case *network.EventLoadingFinished:
		delete(p.open, e.RequestID)
	case *network.EventLoadingFailed:
		delete(p.open, e.RequestID)
	}
}

func (p *Page) recordEntry(e *log.Entry) {
	if e.Level != log.EntryLevelError && e.Level != log.EntryLevelWarning {
		return
	}
	text := fmt.Sprintf("%s %s: %s (%s)", e.Source, e.Level, e.Text, e.URL)
	if e.Source == log.EntrySourceNetwork {
		p.network = append(p.network, text)
		return
	}
	p.problems = append(p.problems, text)
}

func (p *Page) recordCall(e *runtime.EventConsoleAPICalled) {
	if e.Type != runtime.ConsoleAPICalledTypeError && e.Type != runtime.ConsoleAPICalledTypeWarning && e.Type != runtime.ConsoleAPICalledTypeAssert {
		return
	}
	var text []string
	for _, arg := range e.Args {
		text = append(text, strings.TrimSpace(string(arg.Value)+" "+arg.Description))
	}
	p.problems = append(p.problems, fmt.Sprintf("console.%s: %s", e.Type, strings.Join(text, " ")))
}

// Problems returns the errors and warnings of the console so far, except those of Answers.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.problems...)
}

// Answers returns the console messages of the browser itself about error answers and unreachable servers.
func (p *Page) Answers() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.network...)
}

// URLs returns the URLs of all requests so far.
func (p *Page) URLs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.urls...)
}

// Forget starts a new record of requests. Use it before leaving a page, because the browser may never report the end of its last requests.
func (p *Page) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.urls = nil
	clear(p.open)
}

// InFlight returns the URLs of requests whose answers have not ended, such as those of watches.
func (p *Page) InFlight() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var urls []string
	for _, url := range p.open {
		urls = append(urls, url)
	}
	return urls
}

// Go loads a URL.
func (p *Page) Go(url string) error {
	result, err := call(p, page.Navigate, page.NavigateParams{URL: url})
	if err == nil && result.ErrorText != "" {
		err = fmt.Errorf("loading %s: %s", url, result.ErrorText)
	}
	return err
}

// Run evaluates an expression of JavaScript in the page, waits for it if it is a promise, and decodes its value into out unless that is nil. The page's own
// policy does not bind it.
func (p *Page) Run(expression string, out any) error {
	result, err := call(p, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, AwaitPromise: new(true), ReturnByValue: new(true)})
	if err != nil {
		return err
	}
	if result.ExceptionDetails != nil {
		return errors.New(described(result.ExceptionDetails))
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(result.Result.Value, out)
}

func described(e *runtime.ExceptionDetails) string {
	if e.Exception != nil && e.Exception.Description != "" {
		return e.Exception.Description
	}
	return e.Text
}

// Text is the visible text of the page.
func (p *Page) Text() (string, error) {
	var text string
	err := p.Run(`document.body ? document.body.innerText : ''`, &text)
	return text, err
}

// URL is the path and the query of the page.
func (p *Page) URL() (string, error) {
	var url string
	err := p.Run(`location.pathname + location.search`, &url)
	return url, err
}

// longest is the height of the longest picture, in pixels.
const longest = 4000

// Picture is the page as PNG in a window of this width; if whole is true, the window is as high as its content.
func (p *Page) Picture(width int64, whole bool) ([]byte, error) {
	height := int64(844)
	if whole {
		if err := p.Run(`Math.max(innerHeight, document.documentElement.scrollHeight)`, &height); err != nil {
			return nil, err
		}
		// Use a higher window: elements that stick to the edges of the window would otherwise be in the middle of a larger picture.
		if err := p.Size(width, min(height, longest)); err != nil {
			return nil, err
		}
	}
	result, err := call(p, page.CaptureScreenshot, page.CaptureScreenshotParams{})
	if whole {
		err = errors.Join(err, p.Size(width, 844))
	}
	return result.Data, err
}

// Print returns what the page shows as PDF, on one sheet of this width and height in CSS pixels.
func (p *Page) Print(width, height float64) ([]byte, error) {
	media := emulation.SetEmulatedMediaParams{Media: "screen", Features: media(false)}
	if err := do(p, emulation.SetEmulatedMedia, media); err != nil {
		return nil, err
	}
	const inch = 96
	none := new(0.0)
	result, err := call(p, page.PrintToPDF, page.PrintToPDFParams{
		PrintBackground: new(true), PaperWidth: width / inch, PaperHeight: height / inch, PageRanges: "1",
		MarginTop: none, MarginBottom: none, MarginLeft: none, MarginRight: none,
	})
	return result.Data, errors.Join(err, p.Media(false))
}

// Cookies returns the cookies of the page's profile.
func (p *Page) Cookies() ([]*network.Cookie, error) {
	result, err := call(p, network.GetCookies, network.GetCookiesParams{})
	return result.Cookies, err
}

// Media sets whether the user prefers dark pages.
func (p *Page) Media(dark bool) error {
	return do(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: media(dark)})
}

// Size sets the size of the window in CSS pixels. Narrow sizes are those of phones.
func (p *Page) Size(width, height int64) error {
	return do(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600})
}

func media(dark bool) []*emulation.MediaFeature {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	// Pictures and checks must not depend on animations.
	return []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
}
