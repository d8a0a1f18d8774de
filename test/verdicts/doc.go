// Package verdicts shows what each entry point answers. Each example of pkg/validation/examples goes through REST, gRPC, the API server with the CRDs
// alone, with webhooks and with policies, `raygate validate`, and the controller, which meets it stored; verdicts.md is the table of what each said. The
// corpus holds objects, and changes of objects, that run under KubeRay 1.7, each with the reason why: nothing of ours may refuse one of them. Its
// cases were chosen to be hard on us: every field in an unusual but working form, what tools and other controllers write, and shapes that were
// stored before the CRDs had rules. They are in corpus/*.yaml, as patches of a small valid object of their kind.
//
// The other tests ask the CRDs alone about what no example is: defaults, server-side apply, fields that may not change, nonsense, random objects
// and large ones.
//
// It has no code outside its tests. One control plane serves all of them, with a past in which the CRDs had no rules; the first test that needs it
// prepares it. The programs must have been built (`make build`); `go test -short` asks the rules about the corpus without any.
package verdicts
