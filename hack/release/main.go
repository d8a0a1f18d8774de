// Command release builds what users install: container images, the Helm chart, and all other files of a release. It reads the source of the
// repository in which it runs, and its output depends only on that source.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/sigstore/sigstore/pkg/signature"
)

const usage = `release images|charts|all [flags]
  images  makes the images of operator and gateway, as OCI archives, and pushes them to a registry if one is given
  charts  packs the Helm charts
  all     makes a release of the tag that is checked out: programs, images, chart, manifests and checksums, with signatures if there is a key
`

// options are the options of all commands.
type options struct {
	source, out, version, registry string
	platforms                      string
	revision                       string
	created                        time.Time
	// signer signs images and checksums. Nil signs nothing.
	signer signature.Signer
	// log gets a line for each output.
	log io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, options) error{"images": images, "charts": charts, "all": all}
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("usage:\n%s", usage)
	}
	o := options{log: os.Stdout}
	flags := flag.NewFlagSet("release "+args[0], flag.ContinueOnError)
	flags.StringVar(&o.source, "source", "../..", "root of the repository")
	flags.StringVar(&o.out, "out", "", "folder to write to; all empties it first")
	flags.StringVar(&o.version, "version", "", "version of images and charts; all takes that of the tag")
	flags.StringVar(&o.registry, "registry", "", "registry and path that images are pushed to, such as registry.example.com/ray; empty: none")
	key := flags.String("key", "", "private key for signatures of pushed images and of the checksums, as PEM or of cosign; empty: no signatures")
	flags.StringVar(&o.platforms, "platforms", "linux/amd64,linux/arm64", "platforms of the images")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if o.out == "" {
		return fmt.Errorf("-out says where to write")
	}
	if err := o.readKey(*key); err != nil {
		return err
	}
	o.registry = strings.TrimSuffix(o.registry, "/")
	if err := o.readRepository(ctx, args[0] == "all"); err != nil {
		return err
	}
	return commands[args[0]](ctx, o)
}

// tag is the version as an image tag, which must not contain a plus.
func (o options) tag() string { return strings.ReplaceAll(o.version, "+", "_") }

func (o options) ldflags() string {
	return "-s -w -buildid= -X k8s.io/component-base/version.gitVersion=" + o.version
}

func (o options) parsePlatforms() ([]v1.Platform, error) {
	var out []v1.Platform
	for text := range strings.SplitSeq(o.platforms, ",") {
		p, err := v1.ParsePlatform(text)
		if err != nil || p.Architecture == "" {
			return nil, fmt.Errorf("-platforms: %q is not like linux/amd64", text)
		}
		out = append(out, *p)
	}
	return out, nil
}
