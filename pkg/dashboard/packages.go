package dashboard

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// packagesPath is the path of the packages that Ray keeps itself.
const packagesPath = "/api/packages/gcs/"

// HasPackage implements Client.
func (c *HTTPClient) HasPackage(ctx context.Context, name string) (bool, error) {
	err := c.do(ctx, call{
		name: "HasPackage", method: http.MethodGet, path: packagesPath + url.PathEscape(name), unread: true, timeout: c.config.SubmitTimeout,
	}, nil)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// PutPackage implements Client.
func (c *HTTPClient) PutPackage(ctx context.Context, name string, size int64, content io.Reader) error {
	return c.do(ctx, call{
		name: "PutPackage", method: http.MethodPut, path: packagesPath + url.PathEscape(name), unread: true, timeout: c.config.UploadTimeout,
		content: content, size: size,
	}, nil)
}
