package browser

import (
	"sync/atomic"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
)

// Answer is an answer of the browser in place of the server. Without a Status there is no answer.
type Answer struct {
	Status int64
	JSON   string // the body
}

// Intercepted are the requests of a page that the browser keeps from the server.
type Intercepted struct {
	page  *Page
	count atomic.Int64
}

// Intercept intercepts requests whose URL matches one of the patterns, with * for any text, until Stop.
func (p *Page) Intercept(a Answer, patterns ...string) (*Intercepted, error) {
	i := &Intercepted{page: p}
	p.mu.Lock()
	p.paused = func(id fetch.RequestID) {
		if a.Status != 0 {
			_ = do(p, fetch.FulfillRequest, fetch.FulfillRequestParams{
				RequestID: id, ResponseCode: a.Status, Body: []byte(a.JSON), ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "application/json"}},
			})
		}
		i.count.Add(1)
	}
	p.mu.Unlock()
	var all []*fetch.RequestPattern
	for _, pattern := range patterns {
		all = append(all, &fetch.RequestPattern{URLPattern: pattern})
	}
	return i, do(p, fetch.Enable, fetch.EnableParams{Patterns: all})
}

// Count is how many requests there were.
func (i *Intercepted) Count() int { return int(i.count.Load()) }

// Stop passes on the requests without an answer, and all later ones.
func (i *Intercepted) Stop() error { return do(i.page, fetch.Disable, cdp.Empty{}) }
