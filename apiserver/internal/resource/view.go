package resource

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/apiserver/internal/document"
	modelv2 "github.com/raygate/raygate/apiserver/internal/model/v2"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// maxBasicAnnotation is the size in bytes up to which the BASIC view keeps the value of an annotation.
const maxBasicAnnotation = 1024

// answer puts items into the field of a response that is meant for objects of the kind, in the form in which the caller will read them.
func (r *Resource) answer(ctx context.Context, resp proto.Message, full bool, items ...*store.Item) error {
	m := resp.ProtoReflect()
	field := r.objectField(m.Descriptor())
	byREST := document.BodyOf(ctx) != nil
	var encoded []byte
	for _, item := range items {
		if byREST {
			carrier, err := r.carrier(item, full)
			if err != nil {
				return err
			}
			if field.IsList() {
				m.Mutable(field).List().Append(protoreflect.ValueOfMessage(carrier))
			} else {
				m.Set(field, protoreflect.ValueOfMessage(carrier))
			}
			continue
		}
		data, err := r.protobuf(item, full)
		if err != nil {
			return err
		}
		encoded = document.AppendField(encoded, field.Number(), data)
	}
	if encoded != nil {
		m.SetUnknown(encoded)
	}
	return nil
}

// objectField is the field of a response that holds the object or the objects.
func (r *Resource) objectField(md protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	for i := range md.Fields().Len() {
		if fd := md.Fields().Get(i); fd.Message() != nil && fd.Message().FullName() == r.message.Descriptor().FullName() {
			return fd
		}
	}
	panic(fmt.Sprintf("%s has no field for a %s", md.FullName(), r.Checks.Kind))
}

// carrier returns a message that stands for the item on the way to REST: what headers are made of, and the JSON.
func (r *Resource) carrier(item *store.Item, full bool) (protoreflect.Message, error) {
	frame := item.Frame()
	if !full {
		var err error
		frame, err = r.Views.Get(&item.Views, document.JSONBasic, func() ([]byte, error) {
			tree, err := r.basicTree(item)
			if err != nil {
				return nil, err
			}
			data, err := json.Marshal(tree)
			return document.Frame(data), err
		})
		if err != nil {
			return nil, err
		}
	}
	m := r.message.New()
	meta := &raygatev2.ObjectMeta{Namespace: item.Namespace, Name: item.Name, ResourceVersion: item.ResourceVersion}
	m.Set(m.Descriptor().Fields().ByName("metadata"), protoreflect.ValueOfMessage(meta.ProtoReflect()))
	document.Carry(m.Interface(), frame)
	return m, nil
}

// protobuf returns the item as an encoded message.
func (r *Resource) protobuf(item *store.Item, full bool) ([]byte, error) {
	form, view := document.ProtoFull, (*store.Item).Tree
	if !full {
		form, view = document.ProtoBasic, r.basicTree
	}
	return r.Views.Get(&item.Views, form, func() ([]byte, error) {
		tree, err := view(item)
		if err != nil {
			return nil, err
		}
		m := r.message.New().Interface()
		modelv2.Fill(m, tree)
		return proto.Marshal(m)
	})
}

// basicTree is the BASIC view: metadata without large annotations, the spec fields people list by, all of status.
func (r *Resource) basicTree(item *store.Item) (map[string]any, error) {
	tree, err := item.Tree()
	if err != nil {
		return nil, err
	}
	if meta, ok := tree["metadata"].(map[string]any); ok {
		annotations, _ := meta["annotations"].(map[string]any)
		for name, value := range annotations {
			if text, ok := value.(string); ok && len(text) > maxBasicAnnotation {
				delete(annotations, name)
			}
		}
	}
	if spec, ok := tree["spec"]; ok {
		tree["spec"] = r.basic.of(spec)
	}
	return tree, nil
}
