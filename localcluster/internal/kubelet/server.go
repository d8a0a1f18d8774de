package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"github.com/raygate/raygate/localcluster/internal/podnet"
	"github.com/raygate/raygate/localcluster/internal/podrun"
)

// Port is the port of every simulated kubelet.
const Port = 10250

const (
	idleTimeout     = 4 * time.Hour
	creationTimeout = 30 * time.Second
)

// Pods provides access to the Pods of the nodes.
type Pods interface {
	// Pod returns a Pod of a simulated node, or nil if there is none of the name.
	Pod(namespace, name string) *corev1.Pod
	Logs(ctx context.Context, p *corev1.Pod, o *corev1.PodLogOptions, stdout, stderr io.Writer) error
	Exec(ctx context.Context, p *corev1.Pod, container string, o podrun.ExecOptions) error
	// Dial connects to a port of a Pod.
	Dial(ctx context.Context, p *corev1.Pod, port uint16) (net.Conn, error)
}

// Server is the kubelet server of all simulated nodes.
type Server struct {
	pods     Pods
	listener *podnet.Listener
	http     *http.Server
}

// New starts a server with a self-signed certificate, which the API server does not verify.
func New(pods Pods) (*Server, error) {
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey("simulated-node", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("making certificate of the simulated nodes: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading certificate of the simulated nodes: %w", err)
	}
	s := &Server{pods: pods, listener: podnet.NewListener()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.logs)
	for _, method := range []string{"GET", "POST"} {
		mux.HandleFunc(method+" /exec/{namespace}/{pod}/{container}", s.exec)
		mux.HandleFunc(method+" /portForward/{namespace}/{pod}", s.portForward)
	}
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: 30 * time.Second,
		// Connection upgrades require HTTP/1.1.
		TLSConfig:    &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	go func() { _ = s.http.ServeTLS(s.listener, "", "") }() // ends by Close
	return s, nil
}

// Serve is the podnet.Endpoint of all nodes.
func (s *Server) Serve(c net.Conn) { s.listener.Serve(c) }

// Close ends the server and its connections.
func (s *Server) Close() {
	_ = s.http.Close()
	_ = s.listener.Close()
}

// pod returns the Pod in the path, or responds with 404.
func (s *Server) pod(w http.ResponseWriter, r *http.Request) *corev1.Pod {
	p := s.pods.Pod(r.PathValue("namespace"), r.PathValue("pod"))
	if p == nil {
		http.Error(w, fmt.Sprintf("pod %q does not exist on this node", r.PathValue("pod")), http.StatusNotFound)
	}
	return p
}

func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	p := s.pod(w, r)
	if p == nil {
		return
	}
	o, err := logOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out := &flushing{w: w}
	var stdout, stderr io.Writer = out, out
	switch {
	case o.Stream == nil:
	case *o.Stream == corev1.LogStreamStdout:
		stderr = io.Discard
	case *o.Stream == corev1.LogStreamStderr:
		stdout = io.Discard
	}
	w.Header().Set("Content-Type", "text/plain")
	if err := s.pods.Logs(r.Context(), p, o, stdout, stderr); err != nil && !out.written && r.Context().Err() == nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// logOptions parses the query of a log request.
func logOptions(r *http.Request) (*corev1.PodLogOptions, error) {
	q := r.URL.Query()
	o := &corev1.PodLogOptions{Container: r.PathValue("container")}
	var errs []error
	boolean := func(name string, to *bool) {
		if v := q.Get(name); v != "" {
			b, err := strconv.ParseBool(v)
			*to = b
			errs = append(errs, err)
		}
	}
	number := func(name string, to **int64) {
		if v := q.Get(name); v != "" {
			n, err := strconv.ParseInt(v, 10, 64)
			*to = &n
			errs = append(errs, err)
		}
	}
	boolean("follow", &o.Follow)
	boolean("previous", &o.Previous)
	boolean("timestamps", &o.Timestamps)
	number("tailLines", &o.TailLines)
	number("limitBytes", &o.LimitBytes)
	number("sinceSeconds", &o.SinceSeconds)
	if v := q.Get("sinceTime"); v != "" {
		t, err := time.Parse(time.RFC3339, v)
		o.SinceTime = &metav1.Time{Time: t}
		errs = append(errs, err)
	}
	if v := q.Get("stream"); v != "" && v != corev1.LogStreamAll {
		o.Stream = &v
	}
	return o, errors.Join(errs...)
}

// flushing flushes after each write.
type flushing struct {
	w       http.ResponseWriter
	written bool
}

func (f *flushing) Write(p []byte) (int, error) {
	f.written = true
	n, err := f.w.Write(p)
	if err == nil {
		err = http.NewResponseController(f.w).Flush()
	}
	return n, err
}

func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	p := s.pod(w, r)
	if p == nil {
		return
	}
	o, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, executor{s.pods, p}, p.Name, string(p.UID), r.PathValue("container"), r.URL.Query()["command"], o,
		idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
}

// executor runs commands in one Pod.
type executor struct {
	pods Pods
	pod  *corev1.Pod
}

// ExecInContainer implements remotecommand.Executor.
//
//nolint:revive // the interface has these parameters
func (e executor) ExecInContainer(ctx context.Context, _, _, container string, cmd []string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	return e.pods.Exec(ctx, e.pod, container, podrun.ExecOptions{Command: cmd, Stdin: in, Stdout: out, Stderr: errOut, Terminal: tty, Resize: resize})
}

func (s *Server) portForward(w http.ResponseWriter, r *http.Request) {
	p := s.pod(w, r)
	if p == nil {
		return
	}
	o, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, forwarder{s.pods, p}, p.Name, string(p.UID), o, idleTimeout, creationTimeout, portforward.SupportedProtocols)
}

// forwarder connects to ports of one Pod.
type forwarder struct {
	pods Pods
	pod  *corev1.Pod
}

func (f forwarder) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	conn, err := f.pods.Dial(ctx, f.pod, uint16(port))
	if err != nil {
		return err
	}
	podnet.Join(stream, conn)
	return nil
}
