// Package devicequota says whether a Pod fits the ResourceQuotas of its namespace for shared devices: limits.<resource> of every resource that the
// registry of device families counts. Kubernetes accepts such limits and never enforces them, and could not: memory of a device is asked for by
// the slice, and a quota means all slices.
//
// What is used is the sum over all Pods of the namespace that have not ended, also those that wait, computed from their specs by the function that
// admission uses. The view of Pods lags behind admission, so that what was admitted is reserved until the Pod is seen, or for a time. A reservation is
// known by the UID that the API server gave the Pod before it asked, which nobody can choose.
//
// Each replica of the operator knows its own reservations, so that replicas that are asked at the same moment may admit more than a quota allows. With
// a Ledger they share them, at the price of a write for each Pod.
package devicequota
