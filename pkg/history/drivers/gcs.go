//go:build gcs

package drivers

import _ "gocloud.dev/blob/gcsblob" // gs://
