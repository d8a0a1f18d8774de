// Package verdicts compares the answers of all entry points. Each example of pkg/validation/examples goes through REST, gRPC, the API
// server with the CRDs alone, with webhooks and with policies, `raygate validate`, and the controller, which reads it from storage.
// verdicts.md is the table of the answers. The corpus has objects, and changes of objects, that run under KubeRay 1.7, each with its
// reason: no entry point may refuse one of them. Its cases are deliberately hard: every field in an unusual but working form, the output of
// tools and other controllers, and shapes that were stored before the CRDs had rules. They are in corpus/*.yaml, as patches of a small
// valid object of their kind.
//
// The other tests check only the CRDs for cases without examples: defaults, server-side apply, immutable fields, nonsense, random objects
// and large ones.
//
// It has no code outside its tests. One control plane serves all of them, with a history in which the CRDs had no rules; the first test
// that needs it prepares it. The programs must have been built (`make build`); `go test -short` checks the corpus against the rules without
// any.
package verdicts
