package flowcontrol

import (
	"net/http"
	"strings"
	"sync"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Method describes a gRPC method for limits, deadlines and the audit log.
type Method struct {
	// Long calls stay open: streams, and those that wait.
	Long bool
	// Mutates means that the method may change an object: its HTTP method is not GET, or its client sends a stream.
	Mutates bool
}

var methods sync.Map // full method -> Method

// MethodOf describes a method such as /raygate.v2.ClusterService/GetCluster by its descriptor. An unknown method is short and mutates nothing.
func MethodOf(fullMethod string) Method {
	if m, ok := methods.Load(fullMethod); ok {
		return m.(Method)
	}
	name := strings.ReplaceAll(strings.TrimPrefix(fullMethod, "/"), "/", ".")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	rpc, ok := d.(protoreflect.MethodDescriptor)
	if err != nil || !ok {
		return Method{} // not kept: names come from clients
	}
	m := Method{
		Long:    rpc.IsStreamingServer() || rpc.IsStreamingClient() || strings.HasPrefix(string(rpc.Name()), "Wait"),
		Mutates: rpc.IsStreamingClient() && !isOpen(fullMethod),
	}
	if rule, ok := proto.GetExtension(rpc.Options(), annotations.E_Http).(*annotations.HttpRule); ok && rule != nil {
		verb, _ := HTTPRule(rule)
		m.Mutates = verb != http.MethodGet
	}
	methods.Store(fullMethod, m)
	return m
}

// HTTPRule returns the HTTP method and the path of a google.api.http annotation.
func HTTPRule(r *annotations.HttpRule) (method, path string) {
	switch p := r.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return http.MethodGet, p.Get
	case *annotations.HttpRule_Put:
		return http.MethodPut, p.Put
	case *annotations.HttpRule_Post:
		return http.MethodPost, p.Post
	case *annotations.HttpRule_Delete:
		return http.MethodDelete, p.Delete
	case *annotations.HttpRule_Patch:
		return http.MethodPatch, p.Patch
	}
	return "", ""
}
