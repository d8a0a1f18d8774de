// Package volume builds the volume claim for the embedded store of the GCS, and compares one that exists with what is
// asked for.
package volume
