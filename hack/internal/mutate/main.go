// Command mutate measures what the tests protect. It changes product lines at random, one at a time, runs the tests of every package that
// depends on the changed one, and prints the changes that no test detects. The same seed selects the same changes in the same product code,
// so that two versions of the tests can be compared. It changes no file: the Go command gets the mutated file by -overlay.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var defaultPackages = []string{
	"./operator/internal/controller/...", "./operator/internal/podplan", "./operator/internal/jobplan", "./operator/internal/serveplan", "./operator/internal/cronplan", "./operator/internal/expiryplan",
	"./apiserver/internal/...", "./pkg/validation/...",
}

type options struct {
	count int
	seed  uint64
	short bool
	limit time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.count, "n", 200, "number of changes to try; those that do not compile are replaced by others")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the choice")
	flag.BoolVar(&o.short, "short", false, "run only tests that need no control plane")
	flag.DurationVar(&o.limit, "limit", 10*time.Minute, "limit for the tests of one change; a change that makes them hang counts as noticed")
	flag.Parse()
	packages := flag.Args()
	if len(packages) == 0 {
		packages = defaultPackages
	}
	if err := run(context.Background(), os.Stdout, o, packages); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options, patterns []string) error {
	tree, err := load(ctx)
	if err != nil {
		return err
	}
	all, err := tree.mutations(ctx, patterns)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(o.seed, 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	killed, tried := 0, 0
	for _, m := range all {
		if tried == o.count {
			break
		}
		by, err := tree.test(ctx, m, o)
		if errors.Is(err, errNotCompiled) {
			continue
		}
		if err != nil {
			return err
		}
		tried++
		if by != "" {
			killed++
			fmt.Fprintf(out, "noticed   %s: %s (%s)\n", relative(m.at), m.what, by)
		} else {
			fmt.Fprintf(out, "unnoticed %s: %s\n", relative(m.at), m.what)
		}
	}
	if tried == 0 {
		return errors.New("no change could be tried")
	}
	fmt.Fprintf(out, "mutate: %d of %d changes noticed, %.1f %%\n", killed, tried, 100*float64(killed)/float64(tried))
	return nil
}

// relative shortens a path below the working folder.
func relative(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	return strings.TrimPrefix(path, dir+string(filepath.Separator))
}

// tree is the module, as listed by `go list`.
type tree struct {
	packages map[string]*goPackage
}

type goPackage struct {
	ImportPath, Dir                 string
	GoFiles                         []string
	TestGoFiles, XTestGoFiles       []string
	Deps, TestImports, XTestImports []string
	Module                          *struct{ Main bool }
}

func load(ctx context.Context) (*tree, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,Deps,TestImports,XTestImports,Module", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	t := &tree{packages: map[string]*goPackage{}}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := &goPackage{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the list of packages: %w", err)
		}
		t.packages[p.ImportPath] = p
	}
}

// mutations are all changes of the packages that match, in a fixed order.
func (t *tree) mutations(ctx context.Context, patterns []string) ([]mutation, error) {
	out, err := exec.CommandContext(ctx, "go", append([]string{"list"}, patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("listing %v: %w", patterns, err)
	}
	var all []mutation
	for path := range strings.FieldsSeq(string(out)) {
		p := t.packages[path]
		for _, file := range p.GoFiles {
			some, err := mutationsOf(filepath.Join(p.Dir, file))
			if err != nil {
				return nil, err
			}
			for i := range some {
				some[i].pkg = path
			}
			all = append(all, some...)
		}
	}
	return all, nil
}

// testsDependOn reports whether a package or its tests import another, directly or not.
func (t *tree) testsDependOn(p *goPackage, path string) bool {
	if p.ImportPath == path || slices.Contains(p.Deps, path) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(p.TestImports, p.XTestImports), func(name string) bool {
		return name == path || t.packages[name] != nil && slices.Contains(t.packages[name].Deps, path)
	})
}

// dependents are the packages whose tests depend on one: itself first, then those with fewer dependencies, whose tests are quick.
func (t *tree) dependents(path string) []string {
	var found []string
	for name, p := range t.packages {
		if len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 && t.testsDependOn(p, path) {
			found = append(found, name)
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		if a == path || b == path {
			return map[bool]int{true: -1, false: 1}[a == path]
		}
		if n := len(t.packages[a].Deps) - len(t.packages[b].Deps); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	return found
}

var errNotCompiled = errors.New("does not compile")

// test returns the first package that notices the change; empty when none does.
func (t *tree) test(ctx context.Context, m mutation, o options) (string, error) {
	dir, err := os.MkdirTemp("", "raygate-mutate-")
	if err != nil {
		return "", fmt.Errorf("making folder for a change: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file, overlay := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: file}})
	if err != nil {
		return "", fmt.Errorf("encoding overlay: %w", err)
	}
	if err := errors.Join(os.WriteFile(file, m.text(), 0o600), os.WriteFile(overlay, replaced, 0o600)); err != nil {
		return "", fmt.Errorf("writing a change: %w", err)
	}
	if err := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, m.pkg).Run(); err != nil {
		return "", errNotCompiled
	}
	args := []string{"test", "-overlay", overlay, "-vet=off", "-timeout", o.limit.String()}
	for _, short := range []bool{true, false} { // most changes are noticed by tests without a control plane
		if !short && o.short {
			break
		}
		for _, name := range t.dependents(m.pkg) {
			run := slices.Clone(args)
			if short {
				run = append(run, "-short")
			}
			if err := exec.CommandContext(ctx, "go", append(run, name)...).Run(); err != nil {
				return strings.TrimPrefix(name, "github.com/raygate/raygate/"), nil
			}
		}
	}
	return "", nil
}
