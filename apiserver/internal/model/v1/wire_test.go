package v1

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

var wireFiles = []protoreflect.FileDescriptor{
	kuberay.File_kuberay_cluster_proto, kuberay.File_kuberay_config_proto, kuberay.File_kuberay_error_proto,
	kuberay.File_kuberay_job_proto, kuberay.File_kuberay_job_submission_proto, kuberay.File_kuberay_serve_proto,
}

// TestWireIsFrozen holds every method, message, field and enum to the table of KubeRay's wire. Nothing in that table may change: it is in programs
// that are out there.
func TestWireIsFrozen(t *testing.T) {
	data, err := os.ReadFile("testdata/wire.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(data)), "\n")
	var got []string
	for _, file := range wireFiles {
		if file.Package() != "proto" {
			t.Errorf("%s is in package %s", file.Path(), file.Package())
		}
		for i := range file.Services().Len() {
			got = append(got, wireMethods(file.Services().Get(i))...)
		}
		for i := range file.Messages().Len() {
			got = append(got, wireMessage(file.Messages().Get(i))...)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the wire (-want +got):\n%s", diff)
	}
	methods := slices.DeleteFunc(want, func(line string) bool { return !strings.HasPrefix(line, "rpc ") })
	if len(methods) != 31 {
		t.Errorf("the table has %d methods, want 31", len(methods))
	}
}

func wireMethods(s protoreflect.ServiceDescriptor) []string {
	var all []string
	for i := range s.Methods().Len() {
		m := s.Methods().Get(i)
		rule := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
		verb, path := "GET", rule.GetGet()
		for v, p := range map[string]string{"POST": rule.GetPost(), "PUT": rule.GetPut(), "DELETE": rule.GetDelete()} {
			if p != "" {
				verb, path = v, p
			}
		}
		body := rule.GetBody()
		if body == "" {
			body = "-"
		}
		if m.IsStreamingClient() || m.IsStreamingServer() {
			verb = "stream"
		}
		all = append(all, fmt.Sprintf("rpc %s/%s %s %s %s %s %s", s.FullName(), m.Name(), m.Input().FullName(), m.Output().FullName(), verb, path, body))
	}
	return all
}

func wireMessage(m protoreflect.MessageDescriptor) []string {
	all := []string{"message " + string(m.FullName())}
	for i := range m.Enums().Len() {
		e := m.Enums().Get(i)
		for j := range e.Values().Len() {
			all = append(all, fmt.Sprintf("enum %s %s %d", e.FullName(), e.Values().Get(j).Name(), e.Values().Get(j).Number()))
		}
	}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		label := "singular"
		switch {
		case f.IsMap():
			label = "map"
		case f.IsList():
			label = "repeated"
		case f.HasOptionalKeyword():
			label = "optional"
		}
		note := "-"
		options := f.Options().(*descriptorpb.FieldOptions)
		if behavior := proto.GetExtension(options, annotations.E_FieldBehavior).([]annotations.FieldBehavior); len(behavior) > 0 {
			note = behavior[0].String()
		}
		if options.GetDeprecated() {
			note = "deprecated"
		}
		all = append(all, fmt.Sprintf("field %s %d %s %s %s %s %s", m.FullName(), f.Number(), f.Name(), f.JSONName(), label, wireType(f), note))
	}
	return all
}

func wireType(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return "map<" + wireType(f.MapKey()) + "," + wireType(f.MapValue()) + ">"
	case f.Message() != nil:
		return string(f.Message().FullName())
	case f.Enum() != nil:
		return string(f.Enum().FullName())
	}
	return f.Kind().String()
}
