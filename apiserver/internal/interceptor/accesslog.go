package interceptor

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/klog/v2"

	"github.com/raygate/raygate/apiserver/internal/authn"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// slowCall is the minimum duration of a unary call that is logged at any verbosity.
const slowCall = 5 * time.Second

// AccessLog writes a line per call at verbosity 2, and at any verbosity for a slow call. A call of a method that mutates always gets an
// audit line, with its caller. Neither has a payload or a token.
func AccessLog(mutates, long func(method string) bool) Interceptor {
	return func(ctx context.Context, c *Call, next func(context.Context) error) error {
		start := time.Now() //nolint:forbidigo // a duration for the log, on which nothing depends
		err := next(ctx)
		log := klog.FromContext(ctx)
		if mutates(c.Method) {
			log.WithName("audit").Info("Mutation", fieldsOf(ctx, c, start, err)...)
		}
		if log.V(2).Enabled() || c.stream == nil && !long(c.Method) && time.Since(start) > slowCall {
			log.Info("Served", fieldsOf(ctx, c, start, err)...)
		}
		return err
	}
}

// fieldsOf returns what a line about a call says, as keys and values.
func fieldsOf(ctx context.Context, c *Call, start time.Time, err error) []any {
	fields := []any{"method", c.Method, "code", status.Code(err).String(), "duration", time.Since(start), "requestID", RequestIDFrom(ctx)}
	if caller := authn.CallerFrom(ctx); caller != nil {
		fields = append(fields, "user", caller.Name(), "groups", caller.Groups())
	}
	if r, ok := c.Request.(interface{ GetNamespace() string }); ok {
		fields = append(fields, "namespace", r.GetNamespace())
	}
	if r, ok := c.Request.(interface{ GetCluster() string }); ok {
		fields = append(fields, "cluster", r.GetCluster())
	}
	if r, ok := c.Request.(interface{ GetClustername() string }); ok { // in V1
		fields = append(fields, "cluster", r.GetClustername())
	}
	if name := objectName(c.Request); name != "" {
		fields = append(fields, "name", name)
	}
	if r, ok := c.Request.(interface{ GetValidateOnly() bool }); ok && r.GetValidateOnly() {
		fields = append(fields, "validateOnly", true)
	}
	if p, ok := peer.FromContext(ctx); ok {
		fields = append(fields, "peer", p.Addr.String())
	}
	if err != nil {
		fields = append(fields, "error", status.Convert(err).Message())
	}
	return fields
}

// objectName returns the name of the object of a request.
func objectName(req any) string {
	m, ok := req.(proto.Message)
	if !ok {
		return ""
	}
	v1, v2 := "", "" // those of an object in the request
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Message() == nil || f.IsList() || f.IsMap() {
			return true
		}
		switch object := v.Message().Interface().(type) {
		case interface{ GetName() string }:
			v1 = object.GetName()
		case interface{ GetMetadata() *raygatev2.ObjectMeta }:
			v2 = object.GetMetadata().GetName()
		}
		return true
	})
	switch r := req.(type) {
	case interface{ GetName() string }:
		return cmp.Or(v1, r.GetName()) // V1 changes the object in the body, independent of the path
	case interface{ GetSubmissionId() string }:
		return r.GetSubmissionId()
	case interface{ GetSubmissionid() string }:
		return r.GetSubmissionid()
	}
	return cmp.Or(v1, v2)
}
