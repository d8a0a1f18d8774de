package raygate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"k8s.io/utils/clock"
)

// defaultPort is the gRPC port of the gateway.
const defaultPort = "8887"

// Config is the address of the gateway and the credentials of the caller. Address is required.
type Config struct {
	// Address is HOST or HOST:PORT; the default port is 8887. It may begin with https:// or http://; http:// means a plaintext connection.
	// Without either, connections use TLS, except those to a loopback address.
	Address string
	// TLS has the trusted authorities and, for gateways that require one, the client certificate. Nil means the system's authorities.
	TLS *tls.Config
	// Token is sent with each call. Nil sends none.
	Token TokenSource
	// AllowPlaintextToken allows tokens on plaintext connections beyond loopback, which are refused otherwise.
	AllowPlaintextToken bool
	// UserAgent begins with the name of the program; the gateway uses it as the default field manager. Empty means raygate-go.
	UserAgent string
	// Retries is the number of retries of a call after a temporary failure. 0 means 5, and a negative number none.
	Retries int
	// OnWarning gets the warnings of the gateway and of Kubernetes about successful calls. Nil drops them.
	OnWarning func(text string)
	// DialOptions are added, for interceptors, proxies and the like.
	DialOptions []grpc.DialOption
	// Clock for back-off. Nil means the real one.
	Clock clock.Clock
}

// Client is a connection to a gateway. It may be used by many goroutines.
type Client struct {
	conn  *grpc.ClientConn
	clock clock.Clock
}

// maxAnswer is the largest answer in bytes. Old gateways, which do not limit pages in bytes, return 1000 objects of any size.
const maxAnswer = 256 << 20

// Dial prepares a connection, which the first call opens. An error is about the Config only.
func Dial(c Config) (*Client, error) {
	host, plaintext, err := c.Endpoint(defaultPort)
	if err != nil {
		return nil, err
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.UserAgent == "" {
		c.UserAgent = "raygate-go"
	}
	retries := c.Retries
	switch {
	case retries == 0:
		retries = defaultRetries
	case retries < 0:
		retries = 0
	}
	transport := insecure.NewCredentials()
	if !plaintext {
		transport = credentials.NewTLS(c.TLS)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport), grpc.WithUserAgent(c.UserAgent),
		// A watch must notice when the gateway disappears silently.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithChainUnaryInterceptor(retry(retries, c.Clock), warn(c.OnWarning)),
	}
	if c.Token != nil {
		options = append(options, grpc.WithPerRPCCredentials(bearer{c.Token, plaintext}))
	}
	conn, err := grpc.NewClient("dns:///"+host, append(options, c.DialOptions...)...)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", host, err)
	}
	return &Client{conn: conn, clock: c.Clock}, nil
}

// Close ends the connection and all calls on it.
func (c *Client) Close() error { return c.conn.Close() }

// Conn is the connection, for the generated clients.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn }

// Endpoint returns HOST:PORT of Address, with the given port if it has none, and whether connections are in the clear. The error is about the address, or
// that the token would be in the clear although AllowPlaintextToken is not set.
func (c *Config) Endpoint(port string) (host string, plaintext bool, err error) {
	host, plaintext, err = parseAddress(c.Address, port)
	if err == nil && c.Token != nil && plaintext && !c.AllowPlaintextToken && !isLoopback(host) {
		err = fmt.Errorf("connecting to %s: the token would travel in the clear; use https://, or allow it", host)
	}
	return host, plaintext, err
}

// parseAddress returns HOST:PORT, with the default port if there is none, and whether the connection is in the clear.
func parseAddress(address, defaultPort string) (host string, plaintext bool, err error) {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		scheme, rest = "", address
	}
	rest = strings.TrimSuffix(rest, "/")
	name, port, splitErr := net.SplitHostPort(rest)
	switch {
	case splitErr != nil:
		name, port = strings.Trim(rest, "[]"), defaultPort
	case port == "":
		port = defaultPort
	}
	switch {
	case address == "":
		return "", false, errors.New("no address of a gateway was given")
	case !isHost(name) || strings.Trim(port, "0123456789") != "":
		return "", false, fmt.Errorf("%q is not the address of a gateway: use HOST or HOST:PORT, with https:// or http:// in front if need be", address)
	}
	host = net.JoinHostPort(name, port)
	switch scheme {
	case "":
		return host, isLoopback(host), nil
	case "https":
		return host, false, nil
	case "http":
		return host, true, nil
	}
	return "", false, fmt.Errorf("%q: unknown scheme %q, use https or http", address, scheme)
}

// isHost accepts addresses, and names with valid letters; it does not check whether the host exists.
func isHost(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789.-_") == ""
}

func isLoopback(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// TrustFile returns a TLS configuration that trusts the certificates in a PEM file and no others.
func TrustFile(path string) (*tls.Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading certificate authority: %w", err)
	}
	c := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !c.RootCAs.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("reading certificate authority: there is no PEM certificate in %s", path)
	}
	return c, nil
}

// bearer sends a token with each call.
type bearer struct {
	token     TokenSource
	plaintext bool
}

var _ credentials.PerRPCCredentials = bearer{}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token, err := b.token(ctx)
	if err != nil || token == "" {
		return nil, err
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (b bearer) RequireTransportSecurity() bool { return !b.plaintext }

// warn hands warnings on, which come as the header of RFC 7234.
func warn(to func(string)) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, resp any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if to == nil {
			return invoke(ctx, method, req, resp, cc, opts...)
		}
		var header metadata.MD
		err := invoke(ctx, method, req, resp, cc, append(opts, grpc.Header(&header))...)
		for _, value := range header.Get("warning") {
			_, text, _ := strings.Cut(value, `"`)
			to(strings.TrimSuffix(text, `"`))
		}
		return err
	}
}

// IsPlaintext reports whether a connection to an address would be in the clear.
func IsPlaintext(address string) (bool, error) {
	_, plaintext, err := parseAddress(address, defaultPort)
	return plaintext, err
}
