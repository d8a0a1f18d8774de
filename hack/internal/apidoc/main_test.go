package main

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// The page has each method, message and field of the package, and each link leads somewhere. That it is what the protos say is checked by `make verify`.
func TestPage(t *testing.T) {
	data, err := os.ReadFile("../../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	page, methods := string(data), 0
	want := func(text string) {
		t.Helper()
		if !strings.Contains(page, text) {
			t.Errorf("the page has no %q", text)
		}
	}
	protoregistry.GlobalFiles.RangeFilesByPackage(raygatev2.File_raygate_v2_meta_proto.Package(), func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			for service, n := file.Services().Get(i), 0; n < service.Methods().Len(); n++ {
				methods++
				want("\n### " + string(service.Methods().Get(n).Name()) + "\n")
			}
		}
		for i := range file.Messages().Len() {
			for message, n := file.Messages().Get(i), 0; n < message.Fields().Len(); n++ {
				want("| `" + message.Fields().Get(n).JSONName() + "`")
			}
		}
		return true
	})
	if methods < 40 {
		t.Errorf("only %d methods were looked for", methods)
	}
	for _, link := range strings.Split(page, "](#")[1:] {
		anchor, _, _ := strings.Cut(link, ")")
		want("\n### " + headingOf(page, anchor) + "\n")
	}
}

func headingOf(page, anchor string) string {
	for line := range strings.Lines(page) {
		if heading, ok := strings.CutPrefix(strings.TrimSpace(line), "### "); ok && strings.ToLower(heading) == anchor {
			return heading
		}
	}
	return "a heading for #" + anchor
}
