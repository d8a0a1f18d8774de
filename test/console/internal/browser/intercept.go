package browser

import (
	"sync/atomic"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
)

// Answer is what the browser says in place of a server. Without a Status it says nothing.
type Answer struct {
	Status int64
	JSON   string // the body
}

// Intercepted are the requests of a page that the browser keeps from the server.
type Intercepted struct {
	page  *Page
	count atomic.Int64
}

// Intercept keeps requests from the server whose URL has one of the patterns, with * for anything, until Stop.
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

// Stop lets those through that have no answer, and all that follow.
func (i *Intercepted) Stop() error { return do(i.page, fetch.Disable, cdp.Empty{}) }
