package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"
)

const requestTimeout = 60 * time.Second

// client is a client of a dashboard.
type client struct {
	base   string
	header http.Header
	http   *http.Client
}

// details are the used fields of a job.
type details struct {
	Type         string  `json:"type"`
	SubmissionID *string `json:"submission_id"`
	JobID        *string `json:"job_id"`
	Status       string  `json:"status"`
	Message      *string `json:"message"`
	Entrypoint   string  `json:"entrypoint"`
}

func (d details) terminal() bool {
	return d.Status == "SUCCEEDED" || d.Status == "FAILED" || d.Status == "STOPPED"
}

// httpClient returns a client that uses the proxy of the Pod, if there is one.
func httpClient(e env) (*http.Client, error) {
	proxy := http.ProxyFromEnvironment
	if e.proxy != "" {
		u, err := url.Parse(e.proxy)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", proxyVariable, err)
		}
		proxy = http.ProxyURL(u)
	}
	return &http.Client{Transport: &http.Transport{Proxy: proxy}}, nil
}

// connect returns a client after a request for the API version, with which the real command line starts too.
func connect(ctx context.Context, e env, address string) (*client, error) {
	if e.errs != nil {
		return nil, e.errs
	}
	if e.address != "" {
		address = e.address
	}
	if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
		address = "http://" + address
	}
	h, err := httpClient(e)
	if err != nil {
		return nil, err
	}
	c := &client{base: strings.TrimSuffix(address, "/"), header: http.Header{}, http: h}
	for k, v := range e.headers {
		c.header.Set(k, v)
	}
	if e.token != "" {
		c.header.Set("Authorization", "Bearer "+e.token)
	}
	var version struct {
		Version string `json:"version"`
	}
	if err := c.call(ctx, http.MethodGet, "/api/version", nil, &version); err != nil {
		return nil, fmt.Errorf("connecting to Ray at address %s: %w", c.base, err)
	}
	return c, nil
}

func jobPath(id, rest string) string { return "/api/jobs/" + url.PathEscape(id) + rest }

// call sends a request and decodes the response into out. body is sent as JSON. Both may be nil.
func (c *client) call(ctx context.Context, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var send io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, send)
	if err != nil {
		return err
	}
	req.Header = c.header.Clone()
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it is read only
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("request failed with status code %d: %s", resp.StatusCode, strings.TrimSpace(string(data)))
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

func (c *client) get(ctx context.Context, id string) (details, error) {
	var d details
	err := c.call(ctx, http.MethodGet, jobPath(id, ""), nil, &d)
	return d, err
}

// tail copies the log to out until the server closes the connection. It returns an error if the connection ends without a closing
// handshake.
func (c *client) tail(ctx context.Context, id string, out io.Writer) error {
	ws, _, err := websocket.Dial(ctx, c.base+jobPath(id, "/logs/tail"), &websocket.DialOptions{HTTPClient: c.http, HTTPHeader: c.header})
	if err != nil {
		return fmt.Errorf("following the log: %w", err)
	}
	defer ws.CloseNow() //nolint:errcheck // the connection is given up
	ws.SetReadLimit(-1) // a frame contains one line of any length
	for {
		_, data, err := ws.Read(ctx)
		var closed websocket.CloseError
		switch {
		case errors.As(err, &closed) && closed.Code == websocket.StatusNormalClosure:
			return nil
		case err != nil:
			return fmt.Errorf("following the log: %w", err)
		}
		if _, err := out.Write(data); err != nil {
			return err
		}
	}
}
