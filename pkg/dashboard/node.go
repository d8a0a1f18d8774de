package dashboard

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// NodeLog implements Client.
func (c *HTTPClient) NodeLog(ctx context.Context, node, file string, lines int) (io.ReadCloser, error) {
	resp, err := c.send(ctx, call{name: "NodeLog", method: http.MethodGet, path: "/api/v0/logs/file", text: true, query: url.Values{
		"node_id": {node}, "filename": {file}, "lines": {strconv.Itoa(lines)},
		"format": {"text"}, // the default of some versions has a 1 before each piece
	}.Encode()})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
