// Package manifest reads documents: the objects that clients send to the gateway, and the files that users check with the command-line tool.
// Both report a mistake at the same path with the same text. [Read] parses a text into a tree, [Decode] writes a tree into a Go type.
//
// It exists because encoding/json, and the decoders of Kubernetes that use it, stop at the first mistake of most kinds, without its place
// or a remedy. Decode walks Go types by reflection, with a plan that is made once per type. The result equals that of encoding/json, with
// two differences that no Kubernetes API server notices: null members and empty structs behind omitempty are left out.
package manifest
