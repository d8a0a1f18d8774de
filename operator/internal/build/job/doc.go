// Package job builds the Jobs that the operator runs for a cluster. Like package pod, it is pure. It is separate because Jobs
// restrict their Pods.
package job
