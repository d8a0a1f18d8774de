package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// readRepository sets the commit and its time. A release requires a tag, which is the version, and an unchanged work tree.
func (o *options) readRepository(ctx context.Context, release bool) error {
	revision, err := o.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	seconds, err := o.git(ctx, "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("reading time of the commit: %w", err)
	}
	o.revision, o.created = revision, time.Unix(at, 0).UTC()
	if !release {
		if o.version == "" {
			return fmt.Errorf("-version is needed")
		}
		return nil
	}
	changed, err := o.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("a release is made of what is committed, and these files are not:\n%s", changed)
	}
	version, err := o.git(ctx, "describe", "--exact-match", "--tags", "--match", "v[0-9]*", "HEAD")
	if err != nil {
		return fmt.Errorf("a release is made of a tag like v1.2.3, and the commit has none: %w", err)
	}
	if o.version != "" && o.version != version {
		return fmt.Errorf("-version is %s, and the tag is %s", o.version, version)
	}
	o.version = version
	return o.checkLibraries(ctx)
}

// library is a requirement of a module of this repository in a go.mod.
var library = regexp.MustCompile(`(?m)^(?:require|)\s+(github\.com/raygate/raygate/\S+) (v\S+)`)

// checkLibraries fails if a module of the repository requires another version of the other modules than that of the release. An importer of
// one module gets the others by these versions; the tags are api/v1.2.3, clients/go/v1.2.3 and so on.
func (o *options) checkLibraries(ctx context.Context) error {
	files, err := o.git(ctx, "ls-files", "go.mod", "*/go.mod")
	if err != nil {
		return err
	}
	var wrong []string
	for file := range strings.FieldsSeq(files) {
		text, err := os.ReadFile(filepath.Join(o.source, file))
		if err != nil {
			return err
		}
		for _, m := range library.FindAllStringSubmatch(string(text), -1) {
			if m[2] != o.version {
				wrong = append(wrong, fmt.Sprintf("%s: %s %s", file, m[1], m[2]))
			}
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("a release has one version of all its modules, and these are not %s; set them by go mod edit -require:\n%s", o.version, strings.Join(wrong, "\n"))
	}
	return nil
}

func (o *options) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = o.source
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(errs.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}
