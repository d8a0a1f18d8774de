package dashboard

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// ServeDetails is the state of Ray Serve.
type ServeDetails struct {
	// Applications by name.
	Applications map[string]ServeApplication
	// TargetCapacity is the share of their full size that the applications are to have, from 0 to 100; nil for all of it.
	TargetCapacity *float64
	// HTTPOptions, GRPCOptions and ProxyLocation are the JSON that Serve was started with; nil for absent ones.
	HTTPOptions, GRPCOptions, ProxyLocation json.RawMessage
	// Answer is all of the answer, by its fields.
	Answer map[string]json.RawMessage
}

// ServeApplication is an application of Ray Serve.
type ServeApplication struct {
	// Status is RUNNING, DEPLOYING or another state of Ray; the set depends on the version.
	Status string
	// Message explains the status.
	Message string
	// Config is the JSON object that was deployed, without the fields that were left out; nil if Ray does not report it.
	Config json.RawMessage
	// Deployments by name.
	Deployments map[string]ServeDeployment
}

// ServeDeployment is a deployment within an application.
type ServeDeployment struct {
	// Status is HEALTHY, UPDATING or another word of Ray's, and Message explains it.
	Status, Message string
	// TargetReplicas is the wanted number of replicas, and RunningReplicas the number of those that accept requests. TargetReplicas is nil
	// if Ray does not report it.
	TargetReplicas  *int
	RunningReplicas int
}

// replicaRunning is the state of a replica that accepts requests.
const replicaRunning = "RUNNING"

const servePath = "/api/serve/applications/" // without the last slash it is a 404

// ServeDetails implements Client.
func (c *HTTPClient) ServeDetails(ctx context.Context) (*ServeDetails, error) {
	return c.serve(ctx, "ServeDetails", "api_type=declarative")
}

// serve returns the state of Ray Serve, with the applications that a query selects.
func (c *HTTPClient) serve(ctx context.Context, name, query string) (*ServeDetails, error) {
	var answer map[string]json.RawMessage
	err := c.do(ctx, call{
		name: name, method: http.MethodGet, path: servePath, query: query, any2xx: true, values: maxServeValues,
		timeout: c.config.ReadTimeout, limit: c.config.MaxServe,
	}, &answer)
	if err != nil {
		return nil, err
	}
	d, err := serveDetails(answer)
	switch {
	case errors.Is(err, ErrTooLarge):
		return nil, &Error{Call: name, Kind: ErrTooLarge, Code: http.StatusOK}
	case err != nil:
		return nil, &Error{Call: name, Kind: ErrMalformed, Code: http.StatusOK, Cause: err}
	}
	return d, nil
}

// DeployServe implements Client.
func (c *HTTPClient) DeployServe(ctx context.Context, config json.RawMessage) error {
	return c.do(ctx, call{
		name: "DeployServe", method: http.MethodPut, path: servePath, body: config, any2xx: true, unread: true,
		timeout: c.config.DeployTimeout, limit: c.config.MaxServe,
	}, nil)
}

// maxServeParts is the maximum number of applications and deployments in an answer: callers visit all of them repeatedly.
const maxServeParts = 20000

// serveDetails requires an object whose applications, if present, are objects. A Status of Kubernetes or a page of an intermediary must not
// count as Serve without applications. It is lenient about the rest, as for jobs.
func serveDetails(answer map[string]json.RawMessage) (*ServeDetails, error) {
	if answer == nil {
		return nil, errors.New("it is no object")
	}
	if _, status := answer["apiVersion"]; status {
		return nil, errors.New("it is an object of Kubernetes")
	}
	d := &ServeDetails{Applications: map[string]ServeApplication{}, Answer: answer}
	if text, given := answer["applications"]; given {
		if err := d.addApplications(text); err != nil {
			return nil, err
		}
	}
	var capacity *float64
	if lenient(answer["target_capacity"], &capacity); capacity != nil && *capacity >= 0 && *capacity <= 100 {
		d.TargetCapacity = capacity
	}
	for key, target := range map[string]*json.RawMessage{
		"http_options": &d.HTTPOptions, "grpc_options": &d.GRPCOptions, "proxy_location": &d.ProxyLocation,
	} {
		if text := answer[key]; len(text) > 0 && string(text) != "null" {
			*target = text
		}
	}
	return d, nil
}

func (d *ServeDetails) addApplications(text json.RawMessage) error {
	var applications map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &applications); err != nil {
		return errors.New("applications are no objects by name")
	}
	parts := len(applications)
	for name, fields := range applications {
		if fields == nil {
			continue
		}
		app := serveApplication(fields)
		if parts += len(app.Deployments); parts > maxServeParts {
			return ErrTooLarge
		}
		d.Applications[name] = app
	}
	return nil
}

func serveApplication(fields map[string]json.RawMessage) ServeApplication {
	a := ServeApplication{Deployments: map[string]ServeDeployment{}}
	lenient(fields["status"], &a.Status)
	lenient(fields["message"], &a.Message)
	var config map[string]json.RawMessage
	if lenient(fields["deployed_app_config"], &config); config != nil {
		a.Config = fields["deployed_app_config"]
	}
	var deployments map[string]map[string]json.RawMessage
	lenient(fields["deployments"], &deployments)
	for name, fields := range deployments {
		var d ServeDeployment
		lenient(fields["status"], &d.Status)
		lenient(fields["message"], &d.Message)
		var target *float64
		if lenient(fields["target_num_replicas"], &target); target != nil && *target >= 0 && *target <= math.MaxInt32 {
			d.TargetReplicas = new(int(*target))
		}
		var replicas []struct {
			State string `json:"state"`
		}
		lenient(fields["replicas"], &replicas)
		for _, r := range replicas {
			if r.State == replicaRunning {
				d.RunningReplicas++
			}
		}
		a.Deployments[name] = d
	}
	return a
}

// How long ServeProxyHealthy waits for an answer unless its context ends before: of the proxy itself, and through an API server, which may
// be busy.
const (
	ProbeTimeout        = 2 * time.Second
	ProxiedProbeTimeout = 5 * time.Second
)

// probeTransport connects to proxies with TLS. It does not verify certificates, because they are for the names that users call and not for
// the address of a Pod. Probes of Kubernetes do the same. The requests contain no secrets.
var probeTransport = func() *http.Transport {
	t := sharedTransport.Clone()
	t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
	return t
}()

// ServeHTTPOptions are the options of the HTTP proxies of Ray Serve that are needed to connect. The zero value has Ray's defaults.
type ServeHTTPOptions struct {
	// RootPath is in front of every path, without a slash at its end; empty for none.
	RootPath string
	// TLS means that the proxies have a certificate.
	TLS bool
}

// rootPath limits root paths to those that cannot lead elsewhere: a root path becomes part of a URL.
var rootPath = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// ParseHTTPOptions reads ServeDetails.HTTPOptions. Invalid or missing options have their defaults.
func ParseHTTPOptions(text json.RawMessage) ServeHTTPOptions {
	var fields map[string]json.RawMessage
	lenient(text, &fields)
	var root, certificate string
	lenient(fields["root_path"], &root)
	lenient(fields["ssl_certfile"], &certificate)
	if root = strings.TrimRight(root, "/"); len(root) > 256 || !rootPath.MatchString(root) {
		root = ""
	}
	return ServeHTTPOptions{RootPath: root, TLS: certificate != ""}
}

// ServeProxyHealthy reports whether an HTTP proxy of Ray Serve accepts requests. base is the address of the proxy, and transport may be
// nil, as in Config. Any answer except 200 means false; an error means that the proxy did not answer.
func ServeProxyHealthy(ctx context.Context, base *url.URL, transport http.RoundTripper) (bool, error) {
	const name = "ServeProxyHealthy"
	timeout := ProxiedProbeTimeout
	if transport == nil {
		transport, timeout = sharedTransport, ProbeTimeout
		if base.Scheme == "https" {
			transport = probeTransport
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("-", "healthz").String(), nil)
	if err != nil {
		return false, &Error{Call: name, Kind: ErrInvalid, Cause: err}
	}
	req.Header.Set("User-Agent", "raygate")
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return false, &Error{Call: name, Kind: ErrUnavailable, Cause: withoutURL(err)}
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK, nil
}
