// Package image makes container images of Go programs: it compiles them for each platform and puts them, with the certificates of public authorities and a
// user who is not root, on an empty file system. It needs no container engine and no base image, and the same source gives the same digest.
package image
