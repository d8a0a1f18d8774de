package dashboard

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// NodeLog implements Client.
func (c *HTTPClient) NodeLog(ctx context.Context, node, file string, lines int) (io.ReadCloser, error) {
	const name = "NodeLog"
	ctx, cancel := context.WithTimeout(ctx, c.config.LogsTimeout)
	resp, err := c.send(ctx, call{name: name, method: http.MethodGet, path: "/api/v0/logs/file", text: true, query: url.Values{
		"node_id": {node}, "filename": {file}, "lines": {strconv.Itoa(lines)},
		"format": {"text"}, // the default of some versions has a 1 before each piece
	}.Encode()})
	if err != nil {
		cancel()
		return nil, err
	}
	return &plainText{call: name, ReadCloser: resp.Body, cancel: cancel}, nil
}

// plainText is an answer without a format.
type plainText struct {
	call string
	io.ReadCloser
	cancel context.CancelFunc
}

// Read implements io.Reader.
func (t *plainText) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &Error{Call: t.call, Kind: ErrUnavailable, Code: http.StatusOK, Cause: err}
	}
	return n, err
}

// Close implements io.Closer.
func (t *plainText) Close() error {
	t.cancel()
	return t.ReadCloser.Close()
}
