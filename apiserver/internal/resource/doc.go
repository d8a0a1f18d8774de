// Package resource implements the standard methods of the v2 API once, for any kind: create, get, list, update, replace, apply, delete,
// watch, wait and events, and the verbs that change a single property. A kind is a [Kind]: its rules, its message and a few paths. A gRPC
// service is an adapter that passes its requests on.
//
// An object stays its stored JSON from the API server to the client. Rules use the Go type that is decoded from it, gRPC clients get the
// message that is made from it. Neither is ever written back: writes contain the JSON of the request, or a patch of the stored JSON.
// Unknown fields therefore survive every method.
package resource
