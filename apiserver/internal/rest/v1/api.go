package v1

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

const (
	// Prefix of the paths of this version.
	Prefix   = "/apis/v1/"
	typeJSON = "application/json"
)

// services are the services of KubeRay's server.
var services = []protoreflect.ServiceDescriptor{
	kuberay.File_kuberay_cluster_proto.Services().Get(0),
	kuberay.File_kuberay_config_proto.Services().Get(0),
	kuberay.File_kuberay_job_proto.Services().Get(0),
	kuberay.File_kuberay_serve_proto.Services().Get(0),
	kuberay.File_kuberay_job_submission_proto.Services().Get(0),
}

// Options of New. All are required.
type Options struct {
	// Conn reaches the services.
	Conn *interceptor.Channel
	// FlowControl decides on a request before its body is read.
	FlowControl *flowcontrol.Controller
}

// API is the HTTP handler of this version.
type API struct {
	Options
	routes rest.Routes
	gate   rest.Gate
}

// New returns the handler.
func New(o Options) *API {
	a := &API{Options: o, routes: rest.RoutesOf(services...)}
	a.gate = rest.Gate{FlowControl: o.FlowControl, WriteError: a.WriteError}
	return a
}

// passedHeaders maps the headers that services receive to their keys.
var passedHeaders = map[string]string{"X-Request-Id": "x-request-id", "Traceparent": "traceparent", "Tracestate": "tracestate", "User-Agent": "user-agent"}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if clean := cleanPath(r.URL.Path); clean != r.URL.Path { // as Go's own mux does, which KubeRay's server has in front
		to := *r.URL
		to.Path, to.RawPath = clean, ""
		http.Redirect(w, r, to.RequestURI(), http.StatusTemporaryRedirect)
		return
	}
	route := a.routes.Match(r.Method, strings.Split(r.URL.Path, "/"))
	if route != nil {
		rest.SetRoute(w, route.Pattern)
	}
	a.gate.Enter(w, r, false, func(ctx context.Context, visit *flowcontrol.Visit) error {
		data, err := read(ctx, w, r, visit)
		switch {
		case err != nil:
			return err
		case route == nil:
			a.WriteError(w, a.routes.Missing(w.Header(), r, "Not Found", "Method Not Allowed"))
		default:
			a.call(ctx, w, r, route, data)
		}
		return nil
	})
}

// call makes a request of a body and calls the method of a route.
func (a *API) call(ctx context.Context, w http.ResponseWriter, r *http.Request, route *rest.Route, data []byte) {
	ctx, cancel, err := rest.CallContext(ctx, r, passedHeaders)
	if err != nil {
		a.WriteError(w, err)
		return
	}
	defer cancel()
	decode := func(into proto.Message) error {
		warnOfUnknown(w.Header(), data, into.ProtoReflect().Descriptor())
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, into); err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		return nil
	}
	if text := string(bytes.TrimSpace(data)); text == "" || text == "null" {
		decode = nil
	}
	a.serve(ctx, w, route, func(request any) error { return route.Fill(request.(proto.Message), r.URL, decode) })
}

// serve calls the method of a route, whose request fill makes, and sends its answer.
func (a *API) serve(ctx context.Context, w http.ResponseWriter, route *rest.Route, fill func(any) error) {
	x := &encoding.Exchange{}
	answer, header, err := a.Conn.Call(encoding.WithExchange(ctx, x), route.RPC, fill)
	for _, text := range header[interceptor.WarningKey] {
		w.Header().Add("Warning", text)
	}
	var data []byte
	_, isObject := answer.(interface{ GetName() string })
	switch {
	case err != nil:
	case len(x.Objects) == 0:
		data, err = modelv1.AppendJSON(nil, answer.(proto.Message))
	case isObject:
		data = x.Objects[0]
	default:
		data, err = modelv1.AppendList(nil, answer.(proto.Message), x.Objects)
	}
	if err != nil {
		a.WriteError(w, err)
		return
	}
	w.Header().Set("Content-Type", typeJSON)
	_, _ = w.Write(data)
}

// read returns the body of a request. It refuses parameters and bodies that would be ignored while something is written.
func read(ctx context.Context, w http.ResponseWriter, r *http.Request, visit *flowcontrol.Visit) ([]byte, error) {
	if err := rest.RefuseUnsupported(r); err != nil {
		return nil, err
	}
	data, err := rest.ReadObject(ctx, w, r, visit)
	if err != nil {
		return nil, err
	}
	// Kubernetes heeds the body of a DELETE, such as {"dryRun": ["All"]}.
	if said := string(bytes.TrimSpace(data)); r.Method == http.MethodDelete && said != "" && said != "{}" {
		return nil, rpcstatus.BadField("", "a DELETE takes no body: what it says would be ignored")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&json.RawMessage{}); err == nil && d.InputOffset() < int64(len(bytes.TrimRight(data, " \t\r\n"))) {
		return nil, rpcstatus.BadField("", "the body goes on after its JSON object: what follows would be ignored")
	}
	return data, nil
}

// cleanPath is path.Clean that keeps a slash at the end.
func cleanPath(p string) string {
	clean := path.Clean(p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}
