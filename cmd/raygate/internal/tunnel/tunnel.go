// Package tunnel opens connections to ports of a cluster's head through the gateway.
package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
)

const (
	// pingInterval keeps a silent tunnel open in proxies between this machine and the gateway.
	pingInterval = 30 * time.Second
	// dialTimeout bounds the time until the head is reached.
	dialTimeout = 30 * time.Second
	// maxError is the longest error of a gateway that is read, in bytes.
	maxError = 64 << 10
)

// Gateway opens tunnels. It may be used by many goroutines.
type Gateway struct {
	url    *url.URL
	client *http.Client
	config raygate.Config
}

// New returns a Gateway for the URL of a REST port.
func New(u *url.URL, c raygate.Config) *Gateway {
	return &Gateway{url: u, config: c, client: connect.HTTPClient(c)}
}

// Dial connects to a port of a cluster's head, by number or name. The connection lives as long as ctx. An error of the gateway has a gRPC status.
func (g *Gateway) Dial(ctx context.Context, namespace, cluster, port string) (net.Conn, error) {
	header, err := connect.Header(ctx, g.config)
	if err != nil {
		return nil, err
	}
	u := g.url.JoinPath("apis/v2/namespaces", namespace, "clusters", cluster, "tunnel")
	u.RawQuery = url.Values{"port": {port}}.Encode()
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	ws, resp, err := websocket.Dial(dialing, u.String(), &websocket.DialOptions{HTTPClient: g.client, HTTPHeader: header})
	if err != nil {
		return nil, problem(resp, err)
	}
	go ping(ctx, ws)
	return websocket.NetConn(ctx, ws, websocket.MessageBinary), nil
}

// problem returns the gateway's own error if it has answered with one.
func problem(resp *http.Response, err error) error {
	if resp == nil {
		return fmt.Errorf("%w: check --url", err)
	}
	st := &spb.Status{}
	data, readErr := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if readErr == nil && (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, st) == nil && st.GetCode() != int32(codes.OK) {
		return status.ErrorProto(st)
	}
	return fmt.Errorf("the address of --url answers HTTP %d, and opens no tunnel", resp.StatusCode)
}

// ping keeps a connection open until it ends.
func ping(ctx context.Context, ws *websocket.Conn) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pingInterval):
		}
		if ws.Ping(ctx) != nil {
			return
		}
	}
}

// Serve accepts connections of a listener and joins each with a tunnel of its own, until ctx ends. failed gets the errors of tunnels.
func Serve(ctx context.Context, l net.Listener, dial func(ctx context.Context) (net.Conn, error), failed func(error)) {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		local, err := l.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				failed(err)
			}
			return
		}
		go func() {
			defer func() { _ = local.Close() }()
			remote, err := dial(ctx)
			if err == nil {
				err = join(ctx, local, remote)
			}
			if err != nil && ctx.Err() == nil {
				failed(err)
			}
		}()
	}
}

// join copies bytes both ways until one end closes, or ctx ends. An error is the reason that the gateway gives for the end.
func join(ctx context.Context, local, remote net.Conn) error {
	defer func() { _ = remote.Close() }()
	defer func() { _ = local.Close() }() // first: the gateway may take some time
	ended := make(chan error, 2)
	for _, way := range [][2]net.Conn{{local, remote}, {remote, local}} {
		go func() {
			_, err := io.Copy(way[0], way[1])
			ended <- err
		}()
	}
	select {
	case err := <-ended:
		if closed, ok := errors.AsType[websocket.CloseError](err); ok {
			return fmt.Errorf("the gateway has closed the connection: %s", closed.Reason)
		}
	case <-ctx.Done():
	}
	return nil
}
