// Command s3 is an S3 server for tests and for `make run STORE=s3`: that of github.com/versity/versitygw on a folder, with one user and
// without TLS. It is for a loopback address.
//
// The user's key is that of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. GET /healthz answers 200 when it serves. A bucket is a folder
// below buckets in -dir, so that tests make and remove buckets without a request.
//
// It is a module of its own, because no product needs a server. Its versions of the AWS SDK are those of the main module, so that these
// packages are compiled once.
package main
