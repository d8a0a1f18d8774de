package v2

import (
	"maps"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/kubedoc"
	"github.com/raygate/raygate/pkg/kubedoc/mistake"
)

// decoding collects the mistakes found on the way from a message to a resource.
type decoding struct {
	errs field.ErrorList
}

// encoding collects the errors met on the way from a resource to a message.
type encoding struct {
	errs []error
}

func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

func stringTo[T ~string](p *string) *T {
	if p == nil {
		return nil
	}
	return new(T(*p))
}

func stringFrom[T ~string](p *T) *string {
	if p == nil {
		return nil
	}
	return new(string(*p))
}

// stringsTo copies a list between string types; nil for an empty one.
func stringsTo[To, From ~string](in []From) []To {
	if len(in) == 0 {
		return nil
	}
	out := make([]To, len(in))
	for i, s := range in {
		out[i] = To(s)
	}
	return out
}

// stringMap copies in; nil for an empty one.
func stringMap(in map[string]string) map[string]string {
	if len(in) == 0 {
		return nil
	}
	return maps.Clone(in)
}

// message converts an optional message whose presence counts.
func message[In, Out any](in *In, path *field.Path, convert func(*In, *Out, *field.Path)) *Out {
	if in == nil {
		return nil
	}
	out := new(Out)
	convert(in, out, path)
	return out
}

// list converts every message; nil for none. A nil among them, which no wire form has, is a mistake.
func list[In, Out any](d *decoding, in []*In, path *field.Path, convert func(*In, *Out, *field.Path)) []Out {
	if len(in) == 0 {
		return nil
	}
	out := make([]Out, len(in))
	for i, item := range in {
		if item == nil {
			d.errs = append(d.errs, kubedoc.Problem(path.Index(i), mistake.WrongType, mistake.Type("object", "null")))
			continue
		}
		convert(item, &out[i], path.Index(i))
	}
	return out
}

// present is the way back of message.
func present[In, Out any](in *In, convert func(*In) *Out) *Out {
	if in == nil {
		return nil
	}
	return convert(in)
}

// mapped is the way back of list.
func mapped[In, Out any](in []In, convert func(*In) *Out) []*Out {
	if len(in) == 0 {
		return nil
	}
	out := make([]*Out, len(in))
	for i := range in {
		out[i] = convert(&in[i])
	}
	return out
}

func (d *decoding) document(in *structpb.Struct, out any, path *field.Path) {
	d.errs = append(d.errs, kubedoc.Decode(in, out, path)...)
}

func documentTo[T any](d *decoding, in *structpb.Struct, path *field.Path) *T {
	if in == nil {
		return nil
	}
	out := new(T)
	d.document(in, out, path)
	return out
}

// documents infers the item type from the field it is assigned to, given as into.
func documents[T any](d *decoding, in []*structpb.Struct, _ []T, path *field.Path) []T {
	out, errs := kubedoc.DecodeList[T](in, path)
	d.errs = append(d.errs, errs...)
	return out
}

func (e *encoding) document(v any) *structpb.Struct {
	s, err := kubedoc.Encode(v)
	if err != nil {
		e.errs = append(e.errs, err)
	}
	return s
}

func encodeList[T any](e *encoding, in []T) []*structpb.Struct {
	out, err := kubedoc.EncodeList(in)
	if err != nil {
		e.errs = append(e.errs, err)
	}
	return out
}

// startParams tells nil from empty, as the CRD does: the field has no omitempty.
func startParams(in map[string]string) *structpb.Struct {
	if in == nil {
		return nil
	}
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(in))}
	for key, value := range in {
		out.Fields[key] = structpb.NewStringValue(value)
	}
	return out
}

func (d *decoding) quantity(in string, path *field.Path) resource.Quantity {
	q, err := kubedoc.ParseQuantity(in)
	if err != nil {
		d.errs = append(d.errs, kubedoc.Problem(path, mistake.BadFormat, err.Error()))
	}
	return q
}

// optionalQuantity reads "" as 0.
func (d *decoding) optionalQuantity(in string, path *field.Path) resource.Quantity {
	if in == "" {
		return resource.Quantity{}
	}
	return d.quantity(in, path)
}

func timestamp(t *metav1.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return &timestamppb.Timestamp{Seconds: t.Unix()}
}

// time returns nil for nil and for a mistake.
func (d *decoding) time(in *timestamppb.Timestamp, path *field.Path) *metav1.Time {
	if in == nil {
		return nil
	}
	// The first second of the year 1 is how Go says "no time".
	if !in.IsValid() || in.Nanos != 0 || in.AsTime().IsZero() {
		d.errs = append(d.errs, kubedoc.Problem(path, mistake.BadFormat, "expected a time of whole seconds between the years 1 and 9999"))
		return nil
	}
	return &metav1.Time{Time: time.Unix(in.Seconds, 0)}
}
