//go:build gcs

package drivers_test

import (
	"testing"

	"gocloud.dev/blob"
)

func TestGCS(t *testing.T) {
	if !blob.DefaultURLMux().ValidBucketScheme("gs") {
		t.Error("no store is linked for gs://")
	}
}
