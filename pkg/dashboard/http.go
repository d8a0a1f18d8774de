package dashboard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// HTTPClient is the Client that talks HTTP.
type HTTPClient struct {
	config Config // without the token: formatting an unexported field asks no Formatter
	token  func() string
	client *http.Client
}

var _ Client = (*HTTPClient)(nil)

// New returns a client. It is cheap: connections belong to the transport.
func New(c Config) (*HTTPClient, error) {
	if c.URL == nil || c.URL.Host == "" || c.URL.Scheme != "http" && c.URL.Scheme != "https" {
		return nil, errors.New("creating dashboard client: want an http or https URL")
	}
	if c.Transport == nil {
		c.Transport = sharedTransport
	}
	orDefault(&c.ReadTimeout, defaultReadTimeout)
	orDefault(&c.SubmitTimeout, defaultSubmitTimeout)
	orDefault(&c.LogsTimeout, defaultLogsTimeout)
	orDefault(&c.DeployTimeout, defaultDeployTimeout)
	orDefault(&c.UploadTimeout, defaultUploadTimeout)
	orDefault(&c.MaxServe, defaultMaxServe)
	orDefault(&c.MaxJob, defaultMaxJob)
	orDefault(&c.MaxList, defaultMaxList)
	orDefault(&c.MaxLogs, defaultMaxLogs)
	token := string(c.Token)
	c.Token = ""
	return &HTTPClient{config: c, token: func() string { return token }, client: &http.Client{
		Transport: c.Transport,
		// A dashboard never redirects, and a redirect would send the token to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// call is one request.
type call struct {
	name, method string
	// collection selects all jobs. Otherwise id selects one, followed by below in the path. path replaces all of that.
	collection bool
	id, below  string
	path       string
	query      string
	body       any
	// content is a body of size bytes that is sent as it is. It excludes body.
	content io.Reader
	size    int64
	timeout time.Duration
	// limit is the limit of the answer in bytes, values that of its values; 0 means maxJobValues.
	limit  int64
	values int
	// any2xx accepts every status code from 200 to 299 as a success.
	any2xx bool
	// unread means that the body of a successful answer is ignored, unless it is an HTML page.
	unread bool
	// text means that a successful answer is plain text, which the caller reads.
	text bool
}

func (q call) succeeded(code int) bool {
	return code == http.StatusOK || q.any2xx && code >= 200 && code < 300
}

// tokenHeader leaves Authorization to proxies in between.
const tokenHeader = "X-Ray-Authorization"

func (c *HTTPClient) header() http.Header {
	h := http.Header{"Accept": {"application/json, text/plain"}, "User-Agent": {"raygate"}}
	if token := c.token(); token != "" {
		h.Set(tokenHeader, "Bearer "+token)
	}
	return h
}

// url returns the URL of the call. The id is always one segment of the path, whatever characters it contains.
func (c *HTTPClient) url(q call) (*url.URL, error) {
	u := *c.config.URL
	path, raw := q.path, q.path
	switch {
	case q.collection:
		path, raw = "/api/jobs/", "/api/jobs/" // without the last slash it is a 404
	case q.path == "":
		if q.id == "" || q.id == "." || q.id == ".." {
			return nil, &Error{Call: q.name, Kind: ErrInvalid, Message: "no path can hold this job id"}
		}
		path, raw = "/api/jobs/"+q.id+q.below, "/api/jobs/"+url.PathEscape(q.id)+q.below
	}
	u.RawPath = strings.TrimRight(u.EscapedPath(), "/") + raw
	u.Path = strings.TrimRight(u.Path, "/") + path
	u.RawQuery = q.query
	return &u, nil
}

// do sends the request and decodes a good answer into the target.
func (c *HTTPClient) do(ctx context.Context, q call, target any) error {
	ctx, cancel := context.WithTimeout(ctx, q.timeout) // covers reading the answer, too
	defer cancel()
	resp, err := c.send(ctx, q)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if q.unread {
		return nil
	}
	body := &heldBody{ctx: ctx, body: http.MaxBytesReader(nil, resp.Body, q.limit), room: c.config.Room}
	if jobs, ok := target.(*[]Job); ok {
		*jobs, err = listJobs(body, c.config.MaxJob)
	} else {
		err = decode(body, q.values, target)
	}
	switch {
	case err == nil:
		return nil
	case isTooLarge(err):
		return &Error{Call: q.name, Kind: ErrTooLarge, Code: resp.StatusCode}
	case body.err != nil:
		return &Error{Call: q.name, Kind: ErrUnavailable, Code: resp.StatusCode, Cause: body.err}
	case errors.Is(err, errNoList):
		return &Error{Call: q.name, Kind: ErrMalformed, Code: resp.StatusCode, Message: err.Error()}
	}
	return &Error{Call: q.name, Kind: ErrMalformed, Code: resp.StatusCode, Cause: err}
}

// decode reads an answer of no more than so many values.
func decode(body io.Reader, values int, target any) error {
	text, err := io.ReadAll(body)
	switch {
	case err != nil:
		return err
	case valuesIn(text) > cmp.Or(values, maxJobValues):
		return ErrTooLarge
	}
	return json.Unmarshal(text, target)
}

// send sends the request and returns a successful answer; the caller must close its body.
func (c *HTTPClient) send(ctx context.Context, q call) (*http.Response, error) {
	u, err := c.url(q)
	if err != nil {
		return nil, err
	}
	body := q.content
	header := c.header()
	if q.body != nil {
		text, err := json.Marshal(q.body)
		if err != nil {
			return nil, &Error{Call: q.name, Kind: ErrInvalid, Cause: err}
		}
		body = bytes.NewReader(text)
		header.Set("Content-Type", "application/json")
	}
	req, err := http.NewRequestWithContext(ctx, q.method, u.String(), body)
	if err != nil {
		return nil, &Error{Call: q.name, Kind: ErrInvalid, Cause: err}
	}
	req.Header = header
	if q.content != nil {
		req.ContentLength = q.size
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, &Error{Call: q.name, Kind: ErrUnavailable, Cause: withoutURL(err)}
	}
	if err := q.check(resp); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// check returns an error unless the answer is that of a dashboard on success.
func (q call) check(resp *http.Response) error {
	kind := resp.Header.Get("Content-Type")
	if q.succeeded(resp.StatusCode) && (isJSON(kind) || (q.unread || q.text) && !isPage(kind)) {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // part of it is good enough
	if !q.succeeded(resp.StatusCode) {
		return refusal(q.name, resp.StatusCode, kind, text)
	}
	return &Error{Call: q.name, Kind: ErrMalformed, Code: resp.StatusCode, Proxy: true, Message: clip(string(text), maxMessage)}
}

// withoutURL removes the URL, which the caller has already, from the error of an http.Client.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
