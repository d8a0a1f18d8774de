package podnet

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Client is a Pod whose processes use the proxy.
type Client struct{ Namespace, IP string }

// Proxy is the HTTP proxy for the processes of simulated Pods.
type Proxy struct {
	net      *Network
	listener net.Listener
	server   *http.Server
	reverse  *httputil.ReverseProxy

	mu      sync.Mutex
	clients map[string]client // by UID of the Pod
}

type client struct {
	Client
	password string
}

type clientKey struct{}

// NewProxy starts a proxy on a free port of the loopback address.
func NewProxy(n *Network) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for processes of simulated Pods: %w", err)
	}
	p := &Proxy{net: n, listener: l, clients: map[string]client{}}
	p.reverse = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Host = r.In.Host
			c, _ := r.In.Context().Value(clientKey{}).(Client)
			r.Out.URL.Host = c.target(r.In.URL.Host, "80")
		},
		Transport: &http.Transport{
			// Short names depend on the namespace of the client, so connections are not reused.
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
				c, _ := ctx.Value(clientKey{}).(Client)
				return n.Dial(ctx, addr, c.Namespace)
			},
		},
		FlushInterval: -1, // flush at once, because logs are streams
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(l) }() // ends by Close
	return p, nil
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() { _ = p.server.Close() }

// URL returns the proxy URL for the processes of the Pod with this UID. Its password is valid until Remove.
func (p *Proxy) URL(uid string, c Client) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.clients[uid]
	if !ok {
		random := make([]byte, 16)
		_, _ = rand.Read(random) // never fails
		known.password = hex.EncodeToString(random)
	}
	known.Client = c
	p.clients[uid] = known
	u := url.URL{Scheme: "http", User: url.UserPassword(uid, known.password), Host: p.listener.Addr().String()}
	return u.String()
}

// Remove revokes the access of a Pod.
func (p *Proxy) Remove(uid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.clients, uid)
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	c, ok := p.known(r.Header.Get("Proxy-Authorization"))
	if !ok {
		w.Header().Set("Proxy-Authenticate", `Basic realm="simulated Pods"`)
		http.Error(w, "this proxy serves processes of simulated Pods only", http.StatusProxyAuthRequired)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), clientKey{}, c))
	switch {
	case r.Method == http.MethodConnect:
		p.net.connect(w, r, c.target(r.URL.Host, "443"), c.Namespace)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		r.Header.Del("Proxy-Authorization")
		p.reverse.ServeHTTP(w, r)
	default:
		http.Error(w, "this is a proxy", http.StatusBadRequest)
	}
}

func (p *Proxy) known(header string) (Client, bool) {
	user, password, err := basic(header)
	if err != nil {
		return Client{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.clients[user]
	return c.Client, ok && subtle.ConstantTimeCompare([]byte(password), []byte(c.password)) == 1
}

func basic(header string) (user, password string, err error) {
	encoded, ok := strings.CutPrefix(header, "Basic ")
	if !ok {
		return "", "", errors.New("no basic authentication")
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", "", err
	}
	user, password, _ = strings.Cut(string(data), ":")
	return user, password, nil
}

// target returns host:port, with loopback addresses replaced by the address of the Pod.
func (c Client) target(hostport, port string) string {
	host := hostport
	if h, p, err := net.SplitHostPort(hostport); err == nil {
		host, port = h, p
	}
	host = strings.Trim(host, "[]")
	addr, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && addr.IsLoopback() {
		host = c.IP
	}
	return net.JoinHostPort(host, port)
}
