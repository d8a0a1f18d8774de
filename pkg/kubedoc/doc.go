// Package kubedoc converts between Kubernetes Go types and google.protobuf.Struct, the form in which Kubernetes documents
// (pod templates, Services, environment variables ...) travel inside v2 messages. The command-line tool reads whole objects
// with it, so that a mistake is named at the same path and in the same words as by the gateway.
//
// It walks Go types by reflection, with a plan per type that is made once, rather than going through JSON text: that is
// several times cheaper, and decoding finds every mistake with its path instead of the first one. The result is what
// encoding/json would give, with two differences that no Kubernetes API server notices: null members and empty structs
// behind omitempty are left out. An integer beyond 2^53, which a Struct cannot hold, is a decimal string.
package kubedoc
