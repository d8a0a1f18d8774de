package drivers_test

import (
	"testing"

	"gocloud.dev/blob"

	_ "github.com/raygate/raygate/pkg/history/drivers"
)

func TestSchemes(t *testing.T) {
	for _, scheme := range []string{"file", "s3", "azblob"} {
		if !blob.DefaultURLMux().ValidBucketScheme(scheme) {
			t.Errorf("no store is linked for %s://", scheme)
		}
	}
}
