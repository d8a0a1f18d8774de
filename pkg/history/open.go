package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"gocloud.dev/blob"
)

// OpenBucket opens the bucket at a URL: file:///FOLDER, which is created if necessary, s3://BUCKET?region=REGION, or another scheme that
// the program was built with. Errors do not contain the URL's parameters. wait is that of NewBucket.
func OpenBucket(ctx context.Context, address string, wait time.Duration) (b Bucket, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return b, errors.New("the URL must have the form file:///FOLDER or s3://BUCKET?region=REGION")
	}
	if u.User != nil {
		return b, errors.New("the URL must not contain credentials; the process takes them from its environment")
	}
	if u.Scheme == "file" {
		q := u.Query()
		for name, value := range map[string]string{"create_dir": "true", "no_tmp_dir": "true", "metadata": "skip"} {
			if !q.Has(name) {
				q.Set(name, value)
			}
		}
		u.RawQuery = q.Encode()
	}
	if mux := blob.DefaultURLMux(); !mux.ValidBucketScheme(u.Scheme) {
		return b, fmt.Errorf("unknown scheme %q: want one of %s", u.Scheme, strings.Join(mux.BucketSchemes(), ", "))
	}
	bucket, err := blob.OpenBucket(ctx, u.String())
	if err != nil {
		why := strings.ReplaceAll(err.Error(), cmp.Or(u.RawQuery, u.String()), "...")
		return b, fmt.Errorf("%s://%s: %s", u.Scheme, filepath.Join(u.Host, u.Path), why)
	}
	return NewBucket(bucket, wait), nil
}
