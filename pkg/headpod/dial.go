package headpod

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// ErrRefused means that an address is not the address of a Pod.
var ErrRefused = errors.New("the address is refused")

// NewTransport returns a transport that connects to addresses of Pods only. It resolves no names, and uses no proxy of the environment. apiServer is the
// URL of the Kubernetes API server, which it refuses if its host is an address.
func NewTransport(apiServer string) *http.Transport {
	d := dialer{refused: addressesOf(apiServer)}
	return &http.Transport{
		DialContext: d.dial, TLSHandshakeTimeout: 5 * time.Second,
		MaxIdleConns: 512, MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
}

// addressesOf returns the address in a URL or in host:port; none for a name.
func addressesOf(server string) []netip.Addr {
	host := server
	if u, err := url.Parse(server); err == nil && u.Host != "" {
		host = u.Host
	}
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	return []netip.Addr{ip.Unmap()}
}

type dialer struct{ refused []netip.Addr }

func (d dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if _, err := netip.ParseAddrPort(address); err != nil {
		return nil, fmt.Errorf("%w: %s is a name and not an address of a Pod", ErrRefused, address)
	}
	return (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second, Control: d.control}).DialContext(ctx, network, address)
}

// control checks the address that the kernel is about to connect to.
func (d dialer) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return d.check(to.Addr().Unmap())
}

func (d dialer) check(ip netip.Addr) error {
	switch {
	case ip.IsUnspecified(), ip.IsLoopback(), ip.IsLinkLocalUnicast(), ip.IsMulticast(), ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return fmt.Errorf("%w: no Pod has %s", ErrRefused, ip)
	case slices.Contains(d.refused, ip.WithZone("")):
		return fmt.Errorf("%w: %s is the Kubernetes API server", ErrRefused, ip)
	}
	return nil
}

// To returns a transport that sends each request to the address that find returns, independent of the host in its URL. The Host header
// keeps the host of the URL. It calls find for each request, because a replaced head has another address.
func To(next http.RoundTripper, find func(ctx context.Context) (netip.AddrPort, error)) http.RoundTripper {
	return to{next, find}
}

type to struct {
	next http.RoundTripper
	find func(ctx context.Context) (netip.AddrPort, error)
}

// RoundTrip implements http.RoundTripper.
func (t to) RoundTrip(r *http.Request) (*http.Response, error) {
	address, err := t.find(r.Context())
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	out := r.WithContext(r.Context())
	u := *r.URL
	u.Host = address.String()
	out.URL = &u
	if out.Host == "" {
		out.Host = r.URL.Host
	}
	return t.next.RoundTrip(out)
}
