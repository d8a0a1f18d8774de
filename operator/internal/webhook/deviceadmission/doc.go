// Package deviceadmission answers the API server's calls about Pods that ask for shared accelerators. One webhook completes what the user left
// out, by the registry of package pkg/devices; it decides nothing about quotas. The other looks at the finished Pod: whether what must hold does,
// and whether it fits the quotas of its namespace.
//
// It is an adapter: what a Pod needs is computed in pkg/devices/plan. Unlike the webhooks for Ray objects a fault of ours is a failed call, so that
// the failure policy of the registration decides, and not this program.
package deviceadmission
