// Package gcs decides where the head stores GCS metadata, so that a restarted head finds it. Builders and the controller share
// this decision.
package gcs
