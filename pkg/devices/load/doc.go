// Package load reads registries of device families: it decodes a file, checks it, tries every family out, and keeps the last
// good one when a file changes while it is in use.
package load
