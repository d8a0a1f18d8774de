// Package browser drives headless Chromium as a user does: it finds elements by role and accessible name, and uses them by mouse and keys.
// It records events that must not happen: errors in the console, violations of policies, requests to other hosts.
package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// ErrMissing is the error of Start without an installed Chromium.
var ErrMissing = errors.New("there is no Chromium; Debian's package is chromium")

// Browser is one Chromium.
type Browser struct {
	ctx    context.Context
	cancel []context.CancelFunc
}

// Start starts Chromium, the first that is in the PATH. It reaches no host but 127.0.0.1, and 127.0.0.2, which is another
// site for it. Stop ends it.
func Start(ctx context.Context) (*Browser, error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		return nil, ErrMissing
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.NoSandbox, // containers of continuous integration run as root
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("ignore-certificate-errors", true), // of the identity provider, whose certificate no authority has signed
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE 127.0.0.2"),
		chromedp.Flag("lang", "en-US"),
		chromedp.WindowSize(1280, 800),
		chromedp.CombinedOutput(io.Discard),
	)
	b := &Browser{}
	allocator, cancel := chromedp.NewExecAllocator(ctx, options...)
	b.cancel = append(b.cancel, cancel)
	// A part of a newer protocol that chromedp does not know is no error of the page.
	b.ctx, cancel = chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {}))
	b.cancel = append(b.cancel, cancel)
	if err := chromedp.Do(b.ctx); err != nil {
		b.Stop()
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return b, nil
}

// Stop ends Chromium.
func (b *Browser) Stop() {
	for _, cancel := range slices.Backward(b.cancel) {
		cancel()
	}
}

// Version is the version of Chromium.
func (b *Browser) Version() string {
	version, err := chromedp.CallBrowser(b.ctx, cdpbrowser.GetVersion, cdp.Empty{})
	if err != nil {
		return "Chromium"
	}
	return version.Product
}
