// Package matrix holds all entry points to one verdict. Each example of pkg/validation/examples goes through REST, gRPC, the API
// server with the CRDs alone, with webhooks and with policies, `raygate validate`, and the controller, which meets it
// stored; verdicts.md is the table of what each entry point said.
//
// It has no code outside its tests. The programs must have been built (`make build`).
package matrix
