package raygate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Kind is a kind of resource that the gateway serves.
type Kind struct {
	// Name is the name of the custom resource's kind, as in RayCluster.
	Name string

	message protoreflect.MessageType
	service protoreflect.ServiceDescriptor
	// noun is the kind in the names of methods, body the field of requests with the object.
	noun string
	body protoreflect.Name
}

// The kinds.
var (
	ClusterKind = newKind(&raygatev2.RayCluster{}, raygatev2.File_raygate_v2_cluster_service_proto)
	JobKind     = newKind(&raygatev2.RayJob{}, raygatev2.File_raygate_v2_job_service_proto)
	ServiceKind = newKind(&raygatev2.RayService{}, raygatev2.File_raygate_v2_serve_service_proto)
	CronJobKind = newKind(&raygatev2.RayCronJob{}, raygatev2.File_raygate_v2_cronjob_service_proto)
)

// newKind finds out from the descriptors how the methods of a kind are called.
func newKind(message proto.Message, file protoreflect.FileDescriptor) *Kind {
	md := message.ProtoReflect().Descriptor()
	k := &Kind{Name: string(md.Name()), message: message.ProtoReflect().Type(), service: file.Services().Get(0)}
	k.noun = strings.TrimPrefix(k.Name, "Ray")
	k.body = fieldOf(k.method("Create").Input(), md).Name()
	return k
}

// New returns an empty message of the kind.
func (k *Kind) New() proto.Message { return k.message.New().Interface() }

// Can reports whether the kind has the method of a verb, such as Scale or Diagnose.
func (k *Kind) Can(verb string) bool { return k.method(verb) != nil }

// method returns the method of a verb, or nil. List, Watch and ListEvents are in the plural.
func (k *Kind) method(verb string) protoreflect.MethodDescriptor {
	name := verb + k.noun
	switch verb {
	case "List", "Watch":
		name += "s"
	case "ListEvents":
		name = "List" + k.noun + "Events"
	}
	return k.service.Methods().ByName(protoreflect.Name(name))
}

// fieldOf returns the field of a message that has an object as its value.
func fieldOf(in, object protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	for i := range in.Fields().Len() {
		if fd := in.Fields().Get(i); fd.Message() != nil && fd.Message().FullName() == object.FullName() {
			return fd
		}
	}
	return nil
}

// fields are the values of a request's fields by name. Zero values are the same as absent ones.
type fields map[protoreflect.Name]any

func path(m protoreflect.MethodDescriptor) string {
	return fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())
}

func newMessage(md protoreflect.MessageDescriptor) protoreflect.Message {
	mt, err := protoregistry.GlobalTypes.FindMessageByName(md.FullName())
	if err != nil {
		panic(err) // messages of our own services are linked in
	}
	return mt.New()
}

// request makes the request of a method.
func request(m protoreflect.MethodDescriptor, values fields) proto.Message {
	req := newMessage(m.Input())
	for name, value := range values {
		fd := m.Input().Fields().ByName(name)
		if fd == nil {
			panic(fmt.Sprintf("%s has no field %s", m.Input().FullName(), name))
		}
		if v := fieldValue(value); v.IsValid() {
			req.Set(fd, v)
		}
	}
	return req.Interface()
}

// fieldValue converts a value for a field; it returns an invalid value if the field is to be left out.
func fieldValue(value any) protoreflect.Value {
	switch v := value.(type) {
	case *int32:
		if v == nil {
			return protoreflect.Value{}
		}
		return protoreflect.ValueOfInt32(*v)
	case time.Duration:
		if v == 0 {
			return protoreflect.Value{}
		}
		return protoreflect.ValueOfMessage(durationpb.New(v).ProtoReflect())
	case []string:
		if len(v) == 0 {
			return protoreflect.Value{}
		}
		return protoreflect.ValueOfMessage((&fieldmaskpb.FieldMask{Paths: v}).ProtoReflect())
	case proto.Message:
		return protoreflect.ValueOfMessage(v.ProtoReflect())
	case string, bool, int32, int64:
		if reflect.ValueOf(v).IsZero() {
			return protoreflect.Value{}
		}
		return protoreflect.ValueOf(v)
	}
	panic(fmt.Sprintf("no field holds a %T", value))
}

// call calls the method of a verb. A verb that the kind does not have is ErrNoSuchMethod.
func (k *Kind) call(ctx context.Context, conn grpc.ClientConnInterface, verb string, values fields) (protoreflect.Message, error) {
	m := k.method(verb)
	if m == nil {
		return nil, fmt.Errorf("%s of a %s: %w", strings.ToLower(verb), k.Name, ErrNoSuchMethod)
	}
	resp := newMessage(m.Output())
	if err := conn.Invoke(ctx, path(m), request(m, values), resp.Interface()); err != nil {
		return nil, err
	}
	return resp, nil
}

// openStream calls a method whose answers come as a stream.
func openStream(ctx context.Context, conn grpc.ClientConnInterface, m protoreflect.MethodDescriptor, values fields) (grpc.ClientStream, error) {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path(m))
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(request(m, values)); err != nil && !errors.Is(err, io.EOF) { // EOF: RecvMsg has the reason
		return nil, err
	}
	return stream, stream.CloseSend()
}

// object returns the object in an answer; nil when it has none.
func (k *Kind) object(resp protoreflect.Message) proto.Message {
	fd := fieldOf(resp.Descriptor(), k.message.Descriptor())
	if fd == nil || !resp.Has(fd) {
		return nil
	}
	return resp.Get(fd).Message().Interface()
}
