// Package keeper makes and keeps the objects that batch schedulers want. It is the part of gang that talks to the API
// server, and it never fails: a scheduler whose API is missing or down is no reason to leave Pods alone. What it could not
// do it reports, for a condition of the cluster.
package keeper
