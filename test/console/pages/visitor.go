package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// visitor acts like the tab of a browser: it sends the same requests in the same order, on its own connections.
type visitor struct {
	http    *http.Client
	cookies []*http.Cookie
	base    string
	// arrived counts the bytes of watches of all clients.
	arrived *atomic.Int64
}

func newVisitor(base string, cookies []*http.Cookie, arrived *atomic.Int64) *visitor {
	// A browser has six connections to a host, and uses HTTP/1.1 without TLS.
	return &visitor{http: &http.Client{Transport: &http.Transport{MaxConnsPerHost: 6}}, cookies: cookies, base: base, arrived: arrived}
}

// open sends the requests, and reads watches until ctx ends.
func (v *visitor) open(ctx context.Context, paths []string) error {
	for _, path := range paths {
		resp, err := v.get(ctx, path)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
			_ = resp.Body.Close()
			return fmt.Errorf("%s answered %s: %s", path, resp.Status, body)
		}
		if strings.Contains(path, ":watch") {
			go v.drain(resp.Body)
			continue
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
	}
	return nil
}

func (v *visitor) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	req.Header.Set("Accept", "application/json")
	for _, cookie := range v.cookies {
		req.AddCookie(cookie)
	}
	return v.http.Do(req)
}

func (v *visitor) drain(body io.ReadCloser) {
	defer func() { _ = body.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := body.Read(buffer)
		v.arrived.Add(int64(n))
		if err != nil {
			return
		}
	}
}
