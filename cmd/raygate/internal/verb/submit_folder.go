package verb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/raygate/raygate/cmd/raygate/internal/submit"
	"github.com/raygate/raygate/pkg/workdir"
)

// Limits of packages in bytes: what Ray's dashboard accepts, and for a new cluster more than any gateway should keep.
const (
	maxUpload    = 100 << 20
	maxJobUpload = 10 << 30
)

// takeFolder finds the folder to upload, in front of the dashes or in --working-dir, and returns the arguments behind it.
func (c *submitCommand) takeFolder(args []string, dashes int) ([]string, error) {
	switch {
	case dashes == 1 && c.WorkingDir != "":
		return nil, fmt.Errorf("%s and --working-dir both name the working directory", args[0])
	case dashes == 1:
		c.folder = args[0]
		return args[1:], nil
	case c.WorkingDir != "" && !strings.Contains(c.WorkingDir, "://"):
		c.folder, c.WorkingDir = c.WorkingDir, ""
	}
	return args, nil
}

// upload packs the folder and sends it to the cluster, or for a new one to the gateway, unless the same files are there already.
func (c *submitCommand) upload(ctx context.Context, s *session) (err error) {
	if c.folder == "" {
		return nil
	}
	limit, kept := int64(maxUpload), s.client.Submissions(s.namespace, c.cluster).Packages()
	if c.cluster == "" {
		if c.Name == "" { // the URL of the files is for a job of this name
			c.Name = submit.GenerateName + rand.String(5)
		}
		limit, kept = maxJobUpload, s.client.JobPackages(s.namespace, c.Name)
	}
	files, err := workdir.Pack(ctx, c.folder, limit)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	what := fmt.Sprintf("%d files of %s, %s", files.Files, c.folder, humanize.IBytes(uint64(files.Size)))
	bounded, cancel := s.bounded(ctx)
	defer cancel()
	if c.WorkingDir, err = kept.Find(bounded, files.Name); err != nil {
		return err
	}
	if c.WorkingDir != "" {
		s.progress.Note("not sent again: " + what)
		return nil
	}
	c.WorkingDir, err = kept.Upload(ctx, files.Name, files.Size, &shown{r: files.Reader(), size: files.Size, show: func(percent int64) {
		s.progress.Show(fmt.Sprintf("uploading %s: %d%%", what, percent))
	}})
	s.progress.Clear()
	if err == nil {
		s.progress.Note("uploaded " + what)
	}
	return err
}

// shown shows how much of a reader was read.
type shown struct {
	r          io.Reader
	read, size int64
	show       func(percent int64)
}

// Read implements io.Reader.
func (p *shown) Read(b []byte) (int, error) {
	const step = 20 // few lines where each is a new one
	n, err := p.r.Read(b)
	p.read += int64(n)
	p.show(p.read * 100 / p.size / step * step)
	return n, err
}
