// Package store is the gateway's only way to Kubernetes.
//
// Reads come from one watch cache per kind, independent of the number of clients; writes go to the API server with the credentials of the
// caller. A Store does not depend on protobuf, REST or the rules on an object: it is generic over the kind, and a [Kind] has the
// differences.
//
// It is a separate package so that read-your-writes, paging tokens, the watch fan-out and idempotent creates each exist once and not once
// per resource.
package store
