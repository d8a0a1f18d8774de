// Package raytest builds valid API objects for tests, with the defaults of the schema and with options. A test that needs another field
// adds an option here, and no literal of its own.
//
// Only _test.go files and programs that measure may import it.
package raytest
