package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv2/options"
	"github.com/jhump/protoreflect/v2/protoprint"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/api/visibility"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// modules maps each folder of third_party, which is its own buf module, to its files.
var modules = map[string][]protoreflect.FileDescriptor{
	"googleapis": {
		api.File_google_api_launch_stage_proto,
		annotations.File_google_api_annotations_proto,
		annotations.File_google_api_client_proto,
		annotations.File_google_api_field_behavior_proto,
		annotations.File_google_api_http_proto,
		annotations.File_google_api_resource_proto,
		visibility.File_google_api_visibility_proto,
		code.File_google_rpc_code_proto,
		errdetails.File_google_rpc_error_details_proto,
		status.File_google_rpc_status_proto,
	},
	"grpc-gateway": {
		options.File_protoc_gen_openapiv2_options_annotations_proto,
		options.File_protoc_gen_openapiv2_options_openapiv2_proto,
	},
}

func main() {
	dir := flag.String("dir", "third_party", "directory to write to")
	flag.Parse()
	if err := write(*dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// files returns the content of every file by its path below third_party.
func files() (map[string][]byte, error) {
	closed := map[string]protoreflect.FileDescriptor{}
	for module, list := range modules {
		for _, fd := range list {
			closed[filepath.Join(module, fd.Path())] = fd
			if err := importsKnown(fd); err != nil {
				return nil, err
			}
		}
	}
	out := map[string][]byte{}
	var errs []error
	for path, fd := range closed {
		content, err := print(fd)
		errs = append(errs, err)
		out[path] = content
	}
	return out, errors.Join(errs...)
}

// importsKnown refuses a file that imports one that is not written: buf would only report that much later.
func importsKnown(fd protoreflect.FileDescriptor) error {
	for i := range fd.Imports().Len() {
		path := fd.Imports().Get(i).Path()
		if strings.HasPrefix(path, "google/protobuf/") {
			continue // buf includes these
		}
		known := false
		for _, list := range modules {
			for _, other := range list {
				known = known || other.Path() == path
			}
		}
		if !known {
			return fmt.Errorf("checking imports of %s: %s is not in the list", fd.Path(), path)
		}
	}
	return nil
}

func print(fd protoreflect.FileDescriptor) ([]byte, error) {
	var buf bytes.Buffer
	fmt.Fprintf(&buf, "// Written by hack/internal/thirdparty from the descriptor in %s. DO NOT EDIT.\n\n", goPackage(fd))
	p := protoprint.Printer{SortElements: true, Indent: "  "}
	if err := p.PrintProtoFile(fd, &buf); err != nil {
		return nil, fmt.Errorf("printing %s: %w", fd.Path(), err)
	}
	return buf.Bytes(), nil
}

// goPackage is the Go package the descriptor was linked from.
func goPackage(fd protoreflect.FileDescriptor) string {
	opts, ok := fd.Options().(interface{ GetGoPackage() string })
	if !ok {
		return "an unknown package"
	}
	path, _, _ := strings.Cut(opts.GetGoPackage(), ";")
	return path
}

func write(dir string) error {
	contents, err := files()
	if err != nil {
		return err
	}
	for module := range modules {
		// A file that left the list must leave the tree too.
		if err := os.RemoveAll(filepath.Join(dir, module)); err != nil {
			return fmt.Errorf("clearing %s: %w", module, err)
		}
	}
	for path, content := range contents {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return fmt.Errorf("making directory of %s: %w", path, err)
		}
		if err := os.WriteFile(full, content, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return nil
}
