// Package console drives the console of the gateway with headless Chromium as users do: it finds elements by their roles, labels and texts,
// uses keys and the mouse, and checks the result. The programs of bin/ run on a real control plane with simulated nodes, as in test/e2e.
//
// Every test also fails for an error in the browser's console, a violation of the Content-Security-Policy, a request to another host, and a
// token in a URL, in the page or in its storage. It is a module of its own because of chromedp. hack/test-console.sh runs it;
// SCREENSHOTS=DIR keeps pictures of every page, as PNG and PDF.
package console
