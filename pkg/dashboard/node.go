package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// Node is a node of Ray that runs.
type Node struct {
	// ID is its id in Ray, and IP its address.
	ID string `json:"node_id"`
	IP string `json:"node_ip"`
	// Head means that it is the head.
	Head bool `json:"is_head_node"`
}

// Nodes returns the nodes that run, at most 1000. limit is that of Answer.
func Nodes(ctx context.Context, c Client, limit int64) ([]Node, error) {
	var found struct {
		Data struct {
			Result struct {
				Result []Node `json:"result"`
			} `json:"result"`
		} `json:"data"`
	}
	err := readAnswer(ctx, c, "api/v0/nodes?limit=1000&filter_keys=state&filter_predicates=%3D&filter_values=ALIVE", limit, &found)
	return found.Data.Result.Result, err
}

// NodeLogs returns the names of the log files of a node by component. limit is that of Answer.
func NodeLogs(ctx context.Context, c Client, node string, limit int64) (map[string][]string, error) {
	var found struct {
		Data struct {
			Result map[string][]string `json:"result"`
		} `json:"data"`
	}
	err := readAnswer(ctx, c, "api/v0/logs?node_id="+url.QueryEscape(node), limit, &found)
	return found.Data.Result, err
}

// readAnswer decodes an answer of the dashboard.
func readAnswer(ctx context.Context, c Client, target string, limit int64, into any) error {
	text, err := c.Answer(ctx, target, limit)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

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
