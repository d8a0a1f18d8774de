package verdicts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	_ "github.com/raygate/raygate/proto/gen/go/raygate/v2" // registers the services that callGRPC looks up
)

// servedKind says how the gateway serves a kind: its gRPC service, the name in that service's methods, the member of requests that holds the
// object, and the REST collection.
type servedKind struct{ service, name, body, collection string }

var servedKinds = map[string]servedKind{
	"RayCluster": {"ClusterService", "Cluster", "cluster", "clusters"},
	"RayJob":     {"JobService", "Job", "job", "jobs"},
	"RayService": {"ServeService", "Service", "service", "services"},
	"RayCronJob": {"CronJobService", "CronJob", "cronJob", "cronjobs"},
}

// restPath is the collection of a kind.
func restPath(kind, namespace string) string {
	return "/apis/v2/namespaces/" + namespace + "/" + servedKinds[kind].collection
}

// askREST asks the gateway for everything but the write.
func askREST(ctx context.Context, c *testCase) answer {
	u := c.sent()
	u.SetNamespace(nsGateway)
	delete(u.Object, "status")
	method, path := http.MethodPost, restPath(c.Kind, nsGateway)
	if c.Update {
		method, path = http.MethodPut, path+"/"+c.object.GetName()
		u.SetResourceVersion(c.versions[nsGateway])
	}
	return restAnswer(callREST(ctx, c.setting, method, path+"?validateOnly=true", u))
}

type reply struct {
	code   int
	header http.Header
	body   []byte
}

func callREST(ctx context.Context, s *setting, method, path string, u *unstructured.Unstructured) (reply, error) {
	body, err := json.Marshal(u.Object)
	if err != nil {
		return reply{}, err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.rest+path, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, data}, err
}

func restAnswer(r reply, err error) answer {
	if err != nil {
		return answer{failure: err.Error()}
	}
	var a answer
	for _, h := range r.header.Values("Warning") {
		a.warnings = append(a.warnings, warningIn(h))
	}
	if r.code < 300 {
		return a
	}
	var body struct {
		Details []struct {
			FieldViolations []struct{ Field, Description, Reason string }
		}
	}
	if err := json.Unmarshal(r.body, &body); err != nil || r.code != http.StatusBadRequest {
		a.failure = fmt.Sprintf("HTTP %d: %s", r.code, r.body)
		return a
	}
	a.by = byGateway
	for _, d := range body.Details {
		for _, v := range d.FieldViolations {
			a.errors = append(a.errors, problem{Rule: v.Reason, Field: v.Field, Text: v.Description})
		}
	}
	return a
}

// warningIn reads a header as in RFC 7234: 299 - "text".
func warningIn(header string) problem {
	return problemIn(strings.TrimSuffix(strings.TrimPrefix(header, `299 - "`), `"`))
}

// askGRPC asks as a Go program does.
func askGRPC(ctx context.Context, c *testCase) answer {
	u := c.sent()
	u.SetNamespace(nsGateway)
	delete(u.Object, "status")
	verb, request := "Create", map[string]any{"namespace": nsGateway}
	if c.Update {
		u.SetResourceVersion(c.versions[nsGateway])
		verb, request["name"] = "Replace", c.object.GetName()
	}
	header, err := callGRPC(ctx, c.setting, c.Kind, verb, request, u)
	a := grpcAnswer(err)
	for _, h := range header.Get("warning") {
		a.warnings = append(a.warnings, warningIn(h))
	}
	return a
}

// callGRPC calls Create or Replace of a kind for everything but the write. The messages are filled from JSON, which is that of the CRD.
func callGRPC(ctx context.Context, s *setting, kind, verb string, request map[string]any, u *unstructured.Unstructured) (header metadata.MD, err error) {
	k := servedKinds[kind]
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("raygate.v2." + k.service))
	if err != nil {
		return nil, err
	}
	method := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(verb + k.name))
	if method == nil {
		return nil, fmt.Errorf("%s has no %s%s", k.service, verb, k.name)
	}
	in, err := newMessage(method.Input())
	if err != nil {
		return nil, err
	}
	out, err := newMessage(method.Output())
	if err != nil {
		return nil, err
	}
	request[k.body], request["validateOnly"] = u.Object, true
	if err := protojson.Unmarshal(jsonOf(request), in); err != nil {
		return nil, err
	}
	err = s.conn.Invoke(ctx, fmt.Sprintf("/%s/%s", found.FullName(), method.Name()), in, out, grpc.Header(&header))
	return header, err
}

func newMessage(md protoreflect.MessageDescriptor) (proto.Message, error) {
	mt, err := protoregistry.GlobalTypes.FindMessageByName(md.FullName())
	if err != nil {
		return nil, err
	}
	return mt.New().Interface(), nil
}

func grpcAnswer(err error) answer {
	if err == nil {
		return answer{}
	}
	a := answer{by: byGateway}
	if status.Code(err) != codes.InvalidArgument {
		return answer{failure: err.Error()}
	}
	for _, d := range status.Convert(err).Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range bad.FieldViolations {
				a.errors = append(a.errors, problem{Rule: v.Reason, Field: v.Field, Text: v.Description})
			}
		}
	}
	return a
}
