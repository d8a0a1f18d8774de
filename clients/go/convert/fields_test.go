package convert_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestMessageHasTheFieldsOfTheResource fails when a field is added to the CRD and not to the proto, or the other way round.
func TestMessageHasTheFieldsOfTheResource(t *testing.T) {
	for _, kind := range kinds {
		compareFields(t, reflect.TypeOf(kind.object()).Elem(), kind.message.ProtoReflect().Descriptor(), kind.name)
	}
}

func compareFields(t *testing.T, goType reflect.Type, md protoreflect.MessageDescriptor, path string) {
	t.Helper()
	inProto := map[string]protoreflect.FieldDescriptor{}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		inProto[fd.JSONName()] = fd
	}
	for name, ft := range jsonFields(goType) {
		at := path + "." + name
		fd, ok := inProto[name]
		delete(inProto, name)
		switch {
		case goType == reflect.TypeFor[metav1.ObjectMeta]() && (name == "managedFields" || name == "selfLink"):
			if ok {
				t.Errorf("%s must not be returned", at)
			}
		case !ok:
			t.Errorf("%s is not in %s", at, md.FullName())
		default:
			compareField(t, ft, fd, at)
		}
	}
	for name := range inProto {
		t.Errorf("%s.%s is in the proto and not in %s", path, name, goType)
	}
}

func compareField(t *testing.T, ft reflect.Type, fd protoreflect.FieldDescriptor, at string) {
	t.Helper()
	isPointer := ft.Kind() == reflect.Pointer
	if isPointer {
		ft = ft.Elem()
		if !fd.HasPresence() {
			t.Errorf("%s is a pointer in Go and has no presence in the proto", at)
		}
	}
	if isList := ft.Kind() == reflect.Slice; isList != fd.IsList() {
		t.Errorf("%s: list in Go %v, in the proto %v", at, isList, fd.IsList())
	} else if isList {
		ft = ft.Elem()
	}
	if fd.IsMap() && ft.Kind() != reflect.Map {
		t.Errorf("%s is a map in the proto and not in Go", at)
		return
	}
	if fd.IsMap() {
		compareField(t, ft.Elem(), fd.MapValue(), at+"[]")
		return
	}
	if fd.Kind() == protoreflect.MessageKind && strings.HasPrefix(string(fd.Message().FullName()), "raygate.v2.") {
		compareFields(t, ft, fd.Message(), at)
		return
	}
	if ft.Kind() == reflect.Struct && strings.HasSuffix(ft.PkgPath(), "api/ray/v1") {
		t.Errorf("%s is a type of ours and no message of ours", at)
	}
	if fd.Kind() == protoreflect.Int32Kind && ft.Kind() != reflect.Int32 || fd.Kind() == protoreflect.Int64Kind && ft.Kind() != reflect.Int64 {
		t.Errorf("%s: %s in the proto, %s in Go", at, fd.Kind(), ft)
	}
}

// jsonFields returns the types of the fields by JSON name, those of inlined structs among them.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && (f.Anonymous || strings.Contains(options, "inline")) {
			maps.Copy(out, jsonFields(f.Type))
			continue
		}
		out[name] = f.Type
	}
	return out
}
