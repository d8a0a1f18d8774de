// Program apidoc is a protoc plugin that writes docs/reference.md: every service, method and message of raygate.v2, from the protos and their
// comments, and how calls fail.
package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"

	"github.com/raygate/raygate/hack/failures"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

//go:embed reference.md.tmpl
var page string

func main() {
	protogen.Options{}.Run(func(plugin *protogen.Plugin) error {
		plugin.SupportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)
		return write(plugin, plugin.NewGeneratedFile("reference.md", ""))
	})
}

// reference is the content of the page.
type reference struct {
	Services []service
	// Objects are the messages of resources and their nested messages, in the order of the files.
	Objects []message
	Errors  []failure
}

type service struct {
	Name, Text string
	Methods    []method
}

type method struct {
	Name, Text, Path  string
	Routes            []string
	Stream            bool
	Request, Response message
	// Body is the field that is the body by REST, Answer that which is the answer. Empty means the whole message.
	Body, Answer string
	// Errors are the reasons that not every method has.
	Errors []string
}

type message struct {
	Name, Text string
	Fields     []field
}

type field struct{ Name, JSON, Type, Text string }

type failure struct {
	HTTP                int
	Code, Reason, Where string
	When                string
	Retry               bool
}

func write(plugin *protogen.Plugin, into interface{ Write([]byte) (int, error) }) error {
	var r reference
	parts := map[protogen.GoIdent]bool{} // messages that are described with a method
	for _, file := range plugin.Files {
		if !file.Generate {
			continue
		}
		for _, s := range file.Services {
			described := service{Name: s.GoName, Text: text(s.Comments, "")}
			for _, m := range s.Methods {
				described.Methods = append(described.Methods, methodOf(m))
				parts[m.Input.GoIdent], parts[m.Output.GoIdent] = true, true
			}
			r.Services = append(r.Services, described)
		}
	}
	for _, file := range plugin.Files {
		for _, m := range file.Messages {
			if file.Generate && !parts[m.GoIdent] {
				r.Objects = append(r.Objects, messageOf(m))
			}
		}
	}
	for _, f := range failures.All {
		described := failure{HTTP: f.HTTP(), Code: code.Code(f.Code).String(), Reason: f.Reason, When: f.When, Retry: f.Retry}
		if f.RESTOnly() {
			described.Where = ", by REST only"
		}
		r.Errors = append(r.Errors, described)
	}
	slices.SortStableFunc(r.Errors, func(a, b failure) int { return a.HTTP - b.HTTP })
	functions := template.FuncMap{"anchor": strings.ToLower, "join": strings.Join, "cell": func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }}
	return template.Must(template.New("reference").Funcs(functions).Parse(page)).Execute(into, r)
}

func methodOf(m *protogen.Method) method {
	rule, _ := proto.GetExtension(m.Desc.Options(), annotations.E_Http).(*annotations.HttpRule)
	described := method{
		Name: m.GoName, Text: text(m.Comments, ""), Path: fmt.Sprintf("/%s/%s", m.Parent.Desc.FullName(), m.Desc.Name()), Stream: m.Desc.IsStreamingServer(),
		Request: messageOf(m.Input), Response: messageOf(m.Output), Body: rule.GetBody(), Answer: rule.GetResponseBody(),
	}
	mutates := false
	for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
		verb, path := routeOf(r)
		described.Routes = append(described.Routes, verb+" "+path)
		mutates = mutates || verb != "GET"
	}
	of := failures.Method{Name: m.GoName, Mutates: mutates, Body: rule.GetBody() != "", Named: m.Input.Desc.Fields().ByName("name") != nil}
	common := failures.Of(failures.Method{})
	for _, f := range failures.Of(of) {
		everywhere := slices.ContainsFunc(common, func(c failures.Failure) bool { return c.Reason == f.Reason && c.Code == f.Code })
		if !everywhere && !slices.Contains(described.Errors, f.Reason) {
			described.Errors = append(described.Errors, f.Reason)
		}
	}
	return described
}

func routeOf(r *annotations.HttpRule) (verb, path string) {
	switch p := r.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return "GET", p.Get
	case *annotations.HttpRule_Post:
		return "POST", p.Post
	case *annotations.HttpRule_Put:
		return "PUT", p.Put
	case *annotations.HttpRule_Patch:
		return "PATCH", p.Patch
	case *annotations.HttpRule_Delete:
		return "DELETE", p.Delete
	}
	return "", ""
}

func messageOf(m *protogen.Message) message {
	described := message{Name: m.GoIdent.GoName, Text: text(m.Comments, "")}
	for _, f := range m.Fields {
		described.Fields = append(described.Fields, field{
			Name: string(f.Desc.Name()), JSON: f.Desc.JSONName(), Type: typeOf(f), Text: text(f.Comments, string(f.Desc.Name())) + marks(f),
		})
	}
	return described
}

// typeOf links to the description of a type on the page.
func typeOf(f *protogen.Field) string {
	switch {
	case f.Desc.IsMap():
		return fmt.Sprintf("map of %s to %s", single(f.Message.Fields[0]), single(f.Message.Fields[1]))
	case f.Desc.IsList():
		return "list of " + single(f)
	}
	return single(f)
}

func single(f *protogen.Field) string {
	if f.Message == nil {
		return f.Desc.Kind().String()
	}
	name := string(f.Message.Desc.FullName())
	if f.Message.Desc.ParentFile().Package() == "raygate.v2" {
		return fmt.Sprintf("[%[1]s](#%[2]s)", f.Message.Desc.Name(), strings.ToLower(string(f.Message.Desc.Name())))
	}
	return strings.TrimPrefix(name, "google.protobuf.")
}

// marks are the marks for the options and the presence of a field.
func marks(f *protogen.Field) string {
	var marks []string
	behavior, _ := proto.GetExtension(f.Desc.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	if slices.Contains(behavior, annotations.FieldBehavior_REQUIRED) && !strings.Contains(text(f.Comments, ""), "Required.") {
		marks = append(marks, "Required.")
	}
	switch format, _ := proto.GetExtension(f.Desc.Options(), raygatev2.E_TextFormat).(raygatev2.TextFormat); format {
	case raygatev2.TextFormat_TEXT_FORMAT_QUANTITY:
		marks = append(marks, "Filters compare it as a quantity.")
	case raygatev2.TextFormat_TEXT_FORMAT_VERSION:
		marks = append(marks, "Filters compare it as a version.")
	}
	if f.Desc.HasOptionalKeyword() && f.Desc.Kind() != protoreflect.MessageKind {
		marks = append(marks, "Unset differs from zero.")
	}
	if len(marks) == 0 {
		return ""
	}
	return " " + strings.Join(marks, " ")
}

// text is a comment on one line. The name it begins with is the JSON name, as everywhere on the page.
func text(c protogen.CommentSet, name string) string {
	line := strings.Join(strings.Fields(strings.ReplaceAll(string(c.Leading), "//", "")), " ")
	if rest, ok := strings.CutPrefix(line, name+" "); ok && name != "" {
		return rest
	}
	return line
}
