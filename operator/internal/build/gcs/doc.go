// Package gcs tells where the head keeps its metadata, so that a head that comes back finds it. Builders and the controller
// both have to know, and must not come to different answers.
package gcs
