package dashboard

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Token is a credential. It never shows up in formatted or encoded text.
type Token string

const redacted = "[redacted]"

// Format implements fmt.Formatter.
func (t Token) Format(f fmt.State, _ rune) {
	if t != "" {
		fmt.Fprint(f, redacted)
	}
}

// MarshalText implements encoding.TextMarshaler.
func (t Token) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%s", t), nil }

// Config is the address of a dashboard and the options of calls to it. The zero value of each field but URL is usable.
type Config struct {
	// URL is the root of the dashboard; see DirectURL and ServiceProxyURL.
	URL *url.URL
	// Transport carries the requests and keeps connections. Behind the API server it is one with the credentials for that,
	// which own the header Authorization. Nil means a transport that all clients without one share.
	Transport http.RoundTripper
	// Token is the token of a cluster with token authentication; empty means none.
	Token Token

	// ReadTimeout limits Version, ListJobs, GetJob, DeleteJob, Answer and ServeDetails, and the time until TailJobLogs begins. 0 means 5 seconds.
	ReadTimeout time.Duration
	// SubmitTimeout limits SubmitJob and StopJob, for which Ray itself may take 10 seconds to find an agent. 0 means 20
	// seconds.
	SubmitTimeout time.Duration
	// LogsTimeout limits the time in which JobLogs waits for the log to begin, and for each further piece of it, and that of NodeLog with
	// all reads. 0 means a minute.
	LogsTimeout time.Duration
	// DeployTimeout limits DeployServe: where Serve does not run yet the request starts it. 0 means 30 seconds.
	DeployTimeout time.Duration
	// UploadTimeout limits PutPackage. 0 means 10 minutes.
	UploadTimeout time.Duration

	// MaxJob, MaxList and MaxLogs limit the answers in bytes; MaxJob also one job of a list. 0 means 4 MiB, 64 MiB and 64 MiB: Ray caps
	// logs at 16 MiB of text, which JSON makes longer.
	MaxJob, MaxList, MaxLogs int64
	// MaxServe limits the answer of ServeDetails in bytes. 0 means 16 MiB.
	MaxServe int64
	// Room is called before a call holds this number of additional bytes: for answers that are decoded, and for what they decode to. An
	// error ends the call. Nil means no limit.
	Room func(ctx context.Context, bytes int64) error
}

// The defaults of Config.
const (
	defaultReadTimeout   = 5 * time.Second
	defaultSubmitTimeout = 20 * time.Second
	defaultLogsTimeout   = time.Minute
	defaultDeployTimeout = 30 * time.Second
	defaultUploadTimeout = 10 * time.Minute
	defaultMaxServe      = 16 << 20
	defaultMaxJob        = 4 << 20
	defaultMaxList       = 64 << 20
	defaultMaxLogs       = 64 << 20
)

func orDefault[T time.Duration | int64](value *T, byDefault T) {
	if *value <= 0 {
		*value = byDefault
	}
}

// DirectURL is the URL of a dashboard at host:port, as status.dashboardURL of a RayJob has it.
func DirectURL(hostport string) (*url.URL, error) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil || host == "" || port == "" {
		return nil, fmt.Errorf("parsing dashboard address %q: want host:port", clip(hostport, 128))
	}
	u, err := url.Parse("http://" + hostport)
	if err != nil || u.Host != hostport {
		return nil, fmt.Errorf("parsing dashboard address %q: want host:port", clip(hostport, 128))
	}
	return u, nil
}

// ServiceProxyURL is the URL of a dashboard behind the Service proxy of the API server. The port is a name or a number.
func ServiceProxyURL(apiServer *url.URL, namespace, service, port string) *url.URL {
	return apiServer.JoinPath("api", "v1", "namespaces", namespace, "services", service+":"+port, "proxy")
}

// PodProxyURL is the URL of a server in a Pod behind the Pod proxy of the API server.
func PodProxyURL(apiServer *url.URL, namespace, pod string, port int32) *url.URL {
	return apiServer.JoinPath("api", "v1", "namespaces", namespace, "pods", pod+":"+strconv.Itoa(int(port)), "proxy")
}

// sharedTransport serves clients without a transport of their own. It ignores the proxy of the environment, because a dashboard is inside
// the Kubernetes cluster.
var sharedTransport = &http.Transport{
	DialContext:            (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
	TLSHandshakeTimeout:    5 * time.Second,
	MaxIdleConns:           512,
	MaxIdleConnsPerHost:    2,
	IdleConnTimeout:        90 * time.Second,
	MaxResponseHeaderBytes: 64 << 10,
}
