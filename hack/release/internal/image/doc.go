// Package image makes container images of Go programs. It compiles them for each platform and puts them on an empty file system, with the
// certificates of public authorities and a user who is not root. It needs no container engine and no base image, and the same source gives
// the same digest.
package image
