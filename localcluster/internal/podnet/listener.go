package podnet

import (
	"net"
	"net/netip"
	"sync"
)

// Listener is a net.Listener whose connections come from Serve.
type Listener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

// NewListener returns an open listener.
func NewListener() *Listener {
	return &Listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Serve implements Endpoint: it passes the connection to the server, or closes it if the listener is closed.
func (l *Listener) Serve(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.done:
		_ = c.Close()
	}
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr returns a placeholder that cannot be dialled.
func (l *Listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(netip.AddrPort{}) }
