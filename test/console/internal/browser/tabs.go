package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Tab is a tab of the browser, with any page.
type Tab struct {
	URL string
	// HasOpener means that the tab can access the page that opened it.
	HasOpener bool
}

// CloseTabAt waits for a tab whose URL begins with prefix, and closes it: a page behind another gets no input.
func (p *Page) CloseTabAt(prefix string) (Tab, error) {
	var found Tab
	err := p.Wait(func() error {
		ctx, cancel := context.WithTimeout(p.ctx, Settle)
		defer cancel()
		all, err := chromedp.CallBrowser(ctx, target.GetTargets, target.GetTargetsParams{})
		if err != nil {
			return err
		}
		for _, info := range all.TargetInfos {
			if info.Type == "page" && strings.HasPrefix(info.URL, prefix) {
				found = Tab{URL: info.URL, HasOpener: info.CanAccessOpener}
				_, err := chromedp.CallBrowser(ctx, target.CloseTarget, target.CloseTargetParams{TargetID: info.TargetID})
				return errors.Join(err, do(p, page.BringToFront, cdp.Empty{}))
			}
		}
		return fmt.Errorf("no tab is at %s", prefix)
	})
	return found, err
}
