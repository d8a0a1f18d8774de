// Package drivers links the stores that a program can open: folders and S3. Programs import it for its effect. It is apart from the
// store so that its users, and their tests, are built without the clients of cloud services.
package drivers

import (
	_ "gocloud.dev/blob/fileblob" // file://
	_ "gocloud.dev/blob/s3blob"   // s3://
)
