package podnet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// maxSocketPath is a path length that fits the address of a Unix socket on all systems.
const maxSocketPath = 100

// SocketPath returns a path for a Unix socket below dir, or below a new temporary folder if that path would be too long. done
// removes it.
func SocketPath(dir, name string) (path string, done func(), err error) {
	path = filepath.Join(dir, name)
	if len(path) <= maxSocketPath {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, fmt.Errorf("removing old socket: %w", err)
		}
		return path, func() { _ = os.Remove(path) }, nil
	}
	short, err := os.MkdirTemp("", "raygate-") // mode 0700
	if err != nil {
		return "", nil, fmt.Errorf("making folder for a socket: %w", err)
	}
	return filepath.Join(short, name), func() { _ = os.RemoveAll(short) }, nil
}

// ServeEgress serves the API server's egress connections until the listener is closed.
func (n *Network) ServeEgress(l net.Listener) error {
	s := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { n.connect(w, r, r.URL.Host, "") }),
		ReadHeaderTimeout: 10 * time.Second,
	}
	if err := s.Serve(l); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serving the egress of the API server: %w", err)
	}
	return nil
}

// connect serves CONNECT: it connects the client to the endpoint at hostport.
func (n *Network) connect(w http.ResponseWriter, r *http.Request, hostport, namespace string) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT is served here", http.StatusMethodNotAllowed)
		return
	}
	endpoint, err := n.find(r.Context(), hostport, namespace)
	if err == nil && endpoint == nil {
		endpoint, err = n.outside(r, hostport)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = conn.SetDeadline(time.Time{})
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = conn.Close()
		return
	}
	endpoint(afterBuffer(conn, buffered.Reader))
}

// outside connects to an address outside of the local cluster, such as a developer's webhook on this machine.
func (n *Network) outside(r *http.Request, hostport string) (Endpoint, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	target, err := d.DialContext(r.Context(), "tcp", hostport)
	if err != nil {
		return nil, err
	}
	return func(c net.Conn) { Join(c, target) }, nil
}

// Join copies between two connections until one ends, and closes both.
func Join(a, b io.ReadWriteCloser) {
	var once sync.Once
	end := func() {
		_ = a.Close()
		_ = b.Close()
	}
	var wg sync.WaitGroup
	for _, pair := range [][2]io.ReadWriteCloser{{a, b}, {b, a}} {
		wg.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			once.Do(end)
		})
	}
	wg.Wait()
}

// bufferedConn first returns the data that was read ahead.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

func afterBuffer(c net.Conn, r *bufio.Reader) net.Conn {
	if r.Buffered() == 0 {
		return c
	}
	return bufferedConn{c, r}
}
