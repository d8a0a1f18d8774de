package dashboardfake

import (
	"context"
	"io"

	"github.com/raygate/raygate/pkg/dashboard"
)

// HasPackage implements dashboard.Client.
func (d *Dashboard) HasPackage(ctx context.Context, name string) (bool, error) {
	if err := d.begin(ctx, "HasPackage"); err != nil {
		return false, err
	}
	defer d.mu.Unlock()
	return d.packages[name], nil
}

// PutPackage implements dashboard.Client. It keeps the name of a package of the announced size.
func (d *Dashboard) PutPackage(ctx context.Context, name string, size int64, content io.Reader) error {
	const call = "PutPackage"
	n, err := io.Copy(io.Discard, content)
	if err != nil || n != size {
		return &dashboard.Error{Call: call, Kind: dashboard.ErrUnavailable, Cause: err}
	}
	if err := d.begin(ctx, call); err != nil {
		return err
	}
	defer d.mu.Unlock()
	d.packages[name] = true
	return nil
}
