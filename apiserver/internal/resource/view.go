package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/clients/go/convert"
)

// maxBasicAnnotation is the size in bytes up to which the BASIC view keeps the value of an annotation.
const maxBasicAnnotation = 1024

// copiesOf returns how often the bytes of objects are held for an answer: gRPC needs a second copy, for the response.
func copiesOf(rest *encoding.Exchange) int {
	if rest == nil {
		return 2
	}
	return 1
}

// Answer puts items into the field of a response for objects of the kind, encoded for the transport of the call.
func (r *Resource) Answer(ctx context.Context, resp proto.Message, full bool, items ...*store.Item) error {
	if len(items) == 0 {
		return nil
	}
	field := r.objectField(resp.ProtoReflect().Descriptor())
	rest := encoding.ExchangeOf(ctx)
	encoded, size := make([][]byte, len(items)), 0
	for n, item := range items {
		var err error
		if encoded[n], err = r.encoded(item, formOf(rest != nil, full)); err != nil {
			return err
		}
		size += len(encoded[n]) + 16
	}
	if err := flowcontrol.Hold(ctx, int64(copiesOf(rest)*size)); err != nil {
		return err
	}
	if rest != nil {
		rest.Field, rest.Objects = field, encoded
		rest.Name, rest.Version = items[0].Name, items[0].ResourceVersion
		return nil
	}
	all := make([]byte, 0, size)
	for _, data := range encoded {
		all = protowire.AppendBytes(protowire.AppendTag(all, field.Number(), protowire.BytesType), data)
	}
	resp.ProtoReflect().SetUnknown(all)
	return nil
}

// objectField is the field of a response with the object or the objects.
func (r *Resource) objectField(md protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	for i := range md.Fields().Len() {
		if fd := md.Fields().Get(i); fd.Message() != nil && fd.Message().FullName() == r.message.Descriptor().FullName() {
			return fd
		}
	}
	panic(fmt.Sprintf("%s has no field for a %s", md.FullName(), r.Checks.Kind))
}

// formOf returns the form of objects for a transport and a view.
func formOf(byREST, full bool) encoding.Form {
	form := encoding.ProtoFull
	if byREST {
		form = encoding.JSONFull
	}
	if !full {
		form++
	}
	return form
}

// encoded returns the item in a form.
func (r *Resource) encoded(item *store.Item, form encoding.Form) ([]byte, error) {
	if form == encoding.JSONFull {
		return item.JSON(), nil
	}
	return r.Views.Get(&item.Views, form, func() ([]byte, error) {
		view := (*store.Item).Tree
		if form != encoding.ProtoFull {
			view = r.basicTree
		}
		tree, err := view(item)
		if err != nil {
			return nil, err
		}
		if form == encoding.JSONBasic {
			return json.Marshal(tree)
		}
		m := r.message.New().Interface()
		convert.FillKnown(m, tree)
		return proto.Marshal(m)
	})
}

// basicTree returns the BASIC view: metadata without large annotations, the fields of Kind.Basic, all of status.
func (r *Resource) basicTree(item *store.Item) (map[string]any, error) {
	tree, err := item.Tree()
	if err != nil {
		return nil, err
	}
	if meta, ok := tree["metadata"].(map[string]any); ok {
		annotations, _ := meta["annotations"].(map[string]any)
		maps.DeleteFunc(annotations, func(_ string, value any) bool { text, _ := value.(string); return len(text) > maxBasicAnnotation })
	}
	if spec, ok := tree["spec"]; ok {
		tree["spec"] = kept(r.basic, spec)
	}
	return tree, nil
}
