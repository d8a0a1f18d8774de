package connect

import (
	"context"
	"net"
	"net/http"
	"net/url"

	raygate "github.com/raygate/raygate/clients/go"
)

const (
	// EnvURL is the variable with the address of the REST port.
	EnvURL   = "RAYGATE_URL"
	restPort = "8888"
)

// REST returns the URL of the gateway's REST port, without a path, and the settings for it. The URL is that of the flag. Without it, it is that of the
// environment, unless --server names another gateway, and else port 8888 of the host of the gRPC port.
func (f *Flags) REST() (*url.URL, raygate.Config, error) {
	c, err := f.complete()
	if err != nil {
		return nil, c, err
	}
	address := f.URL
	if address == "" && f.Server == "" {
		address = f.Getenv(EnvURL)
	}
	if address == "" {
		host, plaintext, err := c.Endpoint(restPort)
		if err != nil {
			return nil, c, err
		}
		name, _, _ := net.SplitHostPort(host)
		address = httpURL(net.JoinHostPort(name, restPort), plaintext).String()
	}
	c.Address = address
	host, plaintext, err := c.Endpoint(restPort)
	return httpURL(host, plaintext), c, err
}

// HTTPClient returns a client for the REST port of a gateway.
func HTTPClient(c raygate.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: c.TLS}}
}

// Header returns the header of a request to the REST port, with the token of the caller if there is one.
func Header(ctx context.Context, c raygate.Config) (http.Header, error) {
	header := http.Header{"User-Agent": {c.UserAgent}}
	if c.Token == nil {
		return header, nil
	}
	token, err := c.Token(ctx)
	if err == nil && token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return header, err
}

func httpURL(host string, plaintext bool) *url.URL {
	u := &url.URL{Scheme: "https", Host: host}
	if plaintext {
		u.Scheme = "http"
	}
	return u
}
