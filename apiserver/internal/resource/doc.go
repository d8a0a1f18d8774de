// Package resource implements the standard methods of the v2 API once, for any kind: create, get, list, update, replace, apply, delete, watch,
// wait and events, and the verbs that change one thing. A kind is a [Kind]: its rules, its message and a few paths. A gRPC service is an
// adapter that hands its requests on.
//
// An object is its stored JSON from the API server to the client. Rules look at the Go type made of it, gRPC clients get the message made of it,
// and neither is ever written back: what is written is the JSON that came in, or a patch of the JSON that is stored. So a field that this
// gateway does not know survives every method.
package resource
