package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
	"github.com/raygate/raygate/test/controlplane"
)

// object is the JSON of a request, a response or an object.
type object = map[string]any

// caller calls any method of any service by its descriptor.
type caller interface {
	// call returns the first answer of a stream. The object of an answer stands under its field's name, or alone.
	call(ctx context.Context, m protoreflect.MethodDescriptor, req object) (object, error)
}

type grpcCaller struct {
	conn  *grpc.ClientConn
	token string
}

func newGRPCCaller(t *testing.T, address, token string) grpcCaller {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return grpcCaller{conn, token}
}

func newMessage(md protoreflect.MessageDescriptor) proto.Message {
	mt, err := protoregistry.GlobalTypes.FindMessageByName(md.FullName())
	if err != nil {
		panic(err)
	}
	return mt.New().Interface()
}

func (c grpcCaller) call(ctx context.Context, m protoreflect.MethodDescriptor, req object) (object, error) {
	if c.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.token)
	}
	in, out := newMessage(m.Input()), newMessage(m.Output())
	data, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, in); err != nil {
		return nil, err
	}
	method := fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())
	if m.IsStreamingServer() {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
		if err != nil {
			return nil, err
		}
		if err := stream.SendMsg(in); err != nil {
			return nil, err
		}
		if err := stream.RecvMsg(out); err != nil {
			return nil, err
		}
	} else if err := c.conn.Invoke(ctx, method, in, out); err != nil {
		return nil, err
	}
	if unknown := out.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		return nil, fmt.Errorf("the answer of %s has %d bytes that the message does not know", method, len(unknown))
	}
	data, err = protojson.Marshal(out)
	if err != nil {
		return nil, err
	}
	return parseObject(data), nil
}

type restCaller struct{ base, token string }

func (c restCaller) call(ctx context.Context, m protoreflect.MethodDescriptor, req object) (object, error) {
	rule := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	method, path := "GET", rule.GetGet()
	for name, p := range map[string]string{"POST": rule.GetPost(), "PUT": rule.GetPut(), "PATCH": rule.GetPatch(), "DELETE": rule.GetDelete()} {
		if p != "" {
			method, path = name, p
		}
	}
	query, rest := url.Values{}, object{}
	for _, name := range slices.Sorted(maps.Keys(req)) {
		switch value := req[name]; {
		case strings.Contains(path, "{"+name+"}"):
			path = strings.ReplaceAll(path, "{"+name+"}", fmt.Sprint(value))
		case name == rule.GetBody():
			rest = value.(object)
		case rule.GetBody() == "*":
			rest[jsonName(m, name)] = value
		default:
			query.Set(jsonName(m, name), fmt.Sprint(value))
		}
	}
	var body io.Reader
	if rule.GetBody() != "" {
		data, err := json.Marshal(rest)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+c.base+path+"?"+query.Encode(), body)
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if m.IsStreamingServer() && resp.StatusCode == http.StatusOK {
		line, err := bufio.NewReader(resp.Body).ReadBytes('\n')
		return parseObject(line), err
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	answer := parseObject(data)
	if resp.StatusCode >= 300 {
		code, _ := answer["code"].(float64)
		return answer, status.Error(codes.Code(code), fmt.Sprintf("%d %s", resp.StatusCode, data))
	}
	return answer, nil
}

// callersOf are ways to call a process with a token, by transport.
func callersOf(t *testing.T, p *process) map[string]func(token string) caller {
	return map[string]func(string) caller{
		"grpc": func(token string) caller { return newGRPCCaller(t, p.grpc, token) },
		"rest": func(token string) caller { return restCaller{p.http, token} },
	}
}

// onClusters calls Create, Get, List, Watch or Delete of the clusters of the namespace default.
func onClusters(t *testing.T, c caller, verb, name string) error {
	t.Helper()
	s, suffix, req := allServed()[0], "", object{"namespace": "default"}
	switch verb {
	case "Create":
		req[s.body] = s.example(t, name)
	case "List", "Watch":
		suffix = "s"
	default:
		req["name"] = name
	}
	_, err := c.call(t.Context(), s.method(t, verb, suffix), req)
	return err
}

func jsonName(m protoreflect.MethodDescriptor, field string) string {
	if fd := m.Input().Fields().ByName(protoreflect.Name(field)); fd != nil {
		return fd.JSONName()
	}
	return field
}

func parseObject(data []byte) object {
	var out object
	if err := json.Unmarshal(data, &out); err != nil {
		return object{"not JSON": string(data)}
	}
	return out
}

// served is a kind with its service.
type served struct {
	resource.Kind
	service protoreflect.ServiceDescriptor
	// name is that of the kind in the names of methods, such as Job; body the field of requests that holds the object.
	name, body string
}

func serviceOf(name string) protoreflect.ServiceDescriptor {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		panic(err)
	}
	return d.(protoreflect.ServiceDescriptor)
}

func allServed() []served {
	var all []served
	for i := range kinds {
		sd := serviceOf(kinds[i].Service.ServiceName)
		name := strings.TrimPrefix(kinds[i].Checks.Kind, "Ray")
		create := sd.Methods().ByName(protoreflect.Name("Create" + name))
		body := proto.GetExtension(create.Options(), annotations.E_Http).(*annotations.HttpRule).GetBody()
		all = append(all, served{Kind: kinds[i], service: sd, name: name, body: body})
	}
	return all
}

// method finds a method by its name without the kind's: Create, Lists, ListEvents.
func (s served) method(t *testing.T, verb, suffix string) protoreflect.MethodDescriptor {
	t.Helper()
	m := s.service.Methods().ByName(protoreflect.Name(verb + s.name + suffix))
	if m == nil {
		t.Fatalf("%s has no %s%s%s", s.service.Name(), verb, s.name, suffix)
	}
	return m
}

// example is a valid object of the kind as a client would send it.
func (s served) example(t *testing.T, name string) object {
	t.Helper()
	base := map[string]validation.Object{
		"RayCluster": examples.Base(), "RayJob": examples.BaseJob(), "RayService": examples.BaseService(), "RayCronJob": examples.BaseCronJob(),
	}[s.Checks.Kind]
	data, err := json.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	out := parseObject(data)
	out["apiVersion"], out["kind"], out["metadata"] = "ray.io/v1", s.Checks.Kind, object{"name": name, "namespace": "default"}
	delete(out, "status")
	dropNulls(out)
	return out
}

func dropNulls(v any) {
	switch v := v.(type) {
	case object:
		for key, value := range v {
			if value == nil {
				delete(v, key)
				continue
			}
			dropNulls(value)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

// kubernetes is the resource on the API server.
func (s served) kubernetes(t *testing.T, env *controlplane.Env) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: s.Resource}).Namespace("default")
}

// must returns the object of an answer, whatever the transport put it under.
func (s served) must(t *testing.T, c caller, m protoreflect.MethodDescriptor, req object) object {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), controlplane.WaitTimeout)
	defer cancel()
	answer, err := c.call(ctx, m, req)
	if err != nil {
		t.Fatalf("%s: %v", m.Name(), err)
	}
	if fd := m.Output().Fields().ByName(protoreflect.Name(s.body)); fd != nil && !m.IsStreamingServer() {
		if inner, ok := answer[fd.JSONName()].(object); ok {
			return inner
		}
	}
	return answer
}

func at(o any, path ...string) any {
	for _, name := range path {
		switch v := o.(type) {
		case object:
			o = v[name]
		case []any:
			var n int
			_, _ = fmt.Sscan(name, &n)
			if n >= len(v) {
				return nil
			}
			o = v[n]
		default:
			return nil
		}
	}
	return o
}

func asUnstructured(o object) *unstructured.Unstructured {
	data, _ := json.Marshal(o)
	u := &unstructured.Unstructured{}
	_ = u.UnmarshalJSON(data)
	return u
}
