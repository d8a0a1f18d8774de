// Package keeper creates and maintains the objects for batch schedulers. It is the part of gang that calls the API server. It
// never fails, because Pods must be managed even if the scheduler's API is missing or down. It reports problems for a condition of
// the cluster.
package keeper
