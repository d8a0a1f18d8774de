// Package store is the gateway's only way to Kubernetes.
//
// Reads come from one watch cache per kind, however many clients list and watch; writes go straight to the API server
// with the credentials of the caller. A Store knows nothing of protobuf, of REST and of the rules on an object: it is
// generic over the kind, and what differs between kinds is handed in as a [Kind].
//
// It is a package of its own so that the read-your-writes promise, the paging tokens, the watch fan-out and the
// idempotency of creates each exist once and not once per resource.
package store
