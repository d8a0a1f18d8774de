// Package job builds the Jobs that the operator runs for a cluster: spec in, object out, as package pod. It stands apart
// from pod because a Job has rules of its own about what its Pod may be.
package job
