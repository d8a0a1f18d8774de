// Command crdgen finishes the CRDs that controller-gen wrote.
//
// controller-gen has two settings for descriptions: all or none. With all of them, the Pod templates repeat the reference of Kubernetes a
// dozen times, and the CRDs exceed the size limit of the API server. With none, `kubectl explain` shows nothing. This program walks the
// schema and the Go types side by side and keeps a description only if the Go field is declared in this project. It does not change the
// structure of the schema, embedded types included. A deprecated version keeps no descriptions: readers should use the current version, and
// two sets would not fit.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	rayv1alpha1 "github.com/raygate/raygate/api/ray/v1alpha1"
)

func main() {
	in := flag.String("in", "", "directory with the CRDs as controller-gen wrote them")
	out := flag.String("out", "operator/config/crd/bases", "directory to write the finished CRDs to")
	flag.Parse()
	if err := run(*in, *out, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "crdgen:", err)
		os.Exit(1)
	}
}

func run(in, out string, log *os.File) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(rayv1.AddToScheme(scheme), rayv1alpha1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("registering the API types: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(in, "*.yaml"))
	if err != nil {
		return fmt.Errorf("listing %s: %w", in, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("no CRDs in %q; give the output of controller-gen by --in", in)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading a CRD: %w", err)
		}
		done, err := finish(raw, scheme)
		if err != nil {
			return fmt.Errorf("finishing %s: %w", file, err)
		}
		target := filepath.Join(out, filepath.Base(file))
		if err := os.WriteFile(target, done, 0o644); err != nil {
			return fmt.Errorf("writing a CRD: %w", err)
		}
		fmt.Fprintf(log, "%s: %d KB of %d KB\n", target, len(done)/1000, len(raw)/1000)
	}
	return nil
}
