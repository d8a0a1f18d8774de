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
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		if ip := prefix.Addr(); err != nil || !ip.Is4() || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
			continue
		}
		if l, err := net.Listen("tcp", netip.AddrPortFrom(prefix.Addr(), 0).String()); err == nil {
			return l
		}
	}
	t.Skip("this machine has no address beside loopback")
	return nil
}
