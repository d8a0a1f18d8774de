// Package archive stores records of ended Ray objects in the history store. It gathers what is known about an object and writes it
// in the background: no reconcile waits for the store or a dashboard. A deletion may wait for the outcome, for a limited time.
//
// An object costs the API server no request of its own but a share of one list of the events in its namespace. Pods come from the
// cache, and what they request is counted from their events. RayClusters and RayServices are recorded when the watch reports their
// deletion, so they need no finalizer; those that are deleted while no operator runs have no record.
package archive
