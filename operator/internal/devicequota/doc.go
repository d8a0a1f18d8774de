// Package devicequota decides whether a Pod fits the ResourceQuotas of its namespace for shared devices: limits.<resource> of
// every resource in the registry of device families. Kubernetes accepts such limits but does not enforce them. It could not: Pods
// request device memory per slice, and a quota limits the sum of all slices.
//
// The usage is the sum over all Pods of the namespace that have not ended, including pending ones. Admission and usage compute it
// from the specs with the same function. The cache of Pods lags behind admission, so an admitted Pod is reserved until the cache
// has it, for a limited time. The UID that the API server assigned to the Pod before the request identifies the reservation, so
// clients cannot choose it.
//
// Each replica of the operator knows only its own reservations, so replicas that answer at the same moment may admit more than a
// quota allows. With a Ledger they share reservations, at the price of one write per Pod.
package devicequota
