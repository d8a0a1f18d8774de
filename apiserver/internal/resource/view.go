package resource

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/edge"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/clients/go/convert"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// maxBasicAnnotation is the size in bytes up to which the BASIC view keeps the value of an annotation.
const maxBasicAnnotation = 1024

// answer puts items into the field of a response that is meant for objects of the kind, in the form in which the caller will read them.
func (r *Resource) answer(ctx context.Context, resp proto.Message, full bool, items ...*store.Item) error {
	m := resp.ProtoReflect()
	field := r.objectField(m.Descriptor())
	body := document.BodyOf(ctx)
	if body == nil || field.IsList() {
		return r.embed(ctx, resp, full, items...)
	}
	// By REST the object is all there is to see. What stands for it has what headers are made of.
	data, err := r.encoded(items[0], formOf(true, full))
	if err != nil {
		return err
	}
	object := r.message.New()
	meta := &raygatev2.ObjectMeta{Namespace: items[0].Namespace, Name: items[0].Name, ResourceVersion: items[0].ResourceVersion}
	object.Set(object.Descriptor().Fields().ByName("metadata"), protoreflect.ValueOfMessage(meta.ProtoReflect()))
	if err := edge.Hold(ctx, int64(len(data))); err != nil {
		return err
	}
	if body.InParts {
		body.Object = data
	} else {
		document.Carry(object.Interface(), document.Frame(data))
	}
	m.Set(field, protoreflect.ValueOfMessage(object))
	return nil
}

// embed is answer for a response of which other fields are seen, too.
func (r *Resource) embed(ctx context.Context, resp proto.Message, full bool, items ...*store.Item) error {
	if len(items) == 0 {
		return nil
	}
	field := r.objectField(resp.ProtoReflect().Descriptor())
	body := document.BodyOf(ctx)
	byREST := body != nil
	encoded, size := make([][]byte, len(items)), 0
	for n, item := range items {
		var err error
		if encoded[n], err = r.encoded(item, formOf(byREST, full)); err != nil {
			return err
		}
		size += len(encoded[n]) + 16
	}
	inParts := byREST && body.InParts && field.IsList()
	if err := edge.Hold(ctx, copies(inParts)*int64(size)); err != nil {
		return err
	}
	if inParts {
		body.Tail = document.Tail(field, encoded...)
		return nil
	}
	if byREST {
		frame, err := document.FrameWith(resp, field, encoded...)
		document.Carry(resp, frame)
		return err
	}
	all := make([]byte, 0, size)
	for _, data := range encoded {
		all = document.AppendField(all, field.Number(), data)
	}
	resp.ProtoReflect().SetUnknown(all)
	return nil
}

// copies is how many times an answer is held: as it is kept, and once more where it is put together.
func copies(inParts bool) int64 {
	if inParts {
		return 1
	}
	return 2
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

// formOf is the form in which objects are sent.
func formOf(byREST, full bool) document.Form {
	form := document.ProtoFull
	if byREST {
		form = document.JSONFull
	}
	if !full {
		form++
	}
	return form
}

// encoded returns the item in a form.
func (r *Resource) encoded(item *store.Item, form document.Form) ([]byte, error) {
	if form == document.JSONFull {
		return item.JSON(), nil
	}
	return r.Views.Get(&item.Views, form, func() ([]byte, error) {
		view := (*store.Item).Tree
		if form != document.ProtoFull {
			view = r.basicTree
		}
		tree, err := view(item)
		if err != nil {
			return nil, err
		}
		if form == document.JSONBasic {
			return json.Marshal(tree)
		}
		m := r.message.New().Interface()
		convert.FillKnown(m, tree)
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
