// Package volume builds the volume claim for the embedded store of the GCS.
package volume
