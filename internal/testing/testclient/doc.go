// Package testclient has Kubernetes clients for tests of controllers. Package raytest has no clients, so that tests of pure packages link
// without client-go.
//
// Only _test.go files may import it.
package testclient
