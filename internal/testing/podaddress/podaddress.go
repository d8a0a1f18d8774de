// Package podaddress serves HTTP at an address of this machine that may be one of a Pod: programs refuse to connect to heads on loopback.
package podaddress

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// Serve starts a server until the end of the test, and returns it with its address.
func Serve(t testing.TB, h http.Handler) (*httptest.Server, netip.AddrPort) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	_ = s.Listener.Close()
	s.Listener = Listen(t)
	s.Start()
	t.Cleanup(s.Close)
	return s, netip.MustParseAddrPort(s.Listener.Addr().String())
}

// Listen listens at such an address. It skips the test on a machine that has no address beside loopback.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	address, ok := Find()
	if !ok {
		t.Skip("this machine has no address beside loopback")
	}
	l, err := net.Listen("tcp", netip.AddrPortFrom(address, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Find returns such an address; false if this machine has none.
func Find() (netip.Addr, bool) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, false
	}
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		if ip := prefix.Addr(); err == nil && ip.Is4() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
			return ip, true
		}
	}
	return netip.Addr{}, false
}
