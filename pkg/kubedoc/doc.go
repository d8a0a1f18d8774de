// Package kubedoc reads documents: the objects that clients send to the gateway, and the files that people check with the command-line tool, so that
// a mistake is named at the same path and in the same words by both. [Read] makes a tree of a text, [Decode] a Go type of a tree.
//
// It exists because encoding/json and what Kubernetes builds on it give up at the first mistake of most kinds, and say neither where it is nor what
// would be right. Decode walks Go types by reflection, with a plan per type that is made once. The result is what encoding/json would give, with
// two differences that no Kubernetes API server notices: null members and empty structs behind omitempty are left out.
package kubedoc
