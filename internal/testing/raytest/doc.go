// Package raytest builds API objects for tests: valid ones that have been through the schema's defaults, changed by
// options. A test that needs a field nobody needed yet adds an option here rather than a literal of its own.
//
// Only _test.go files and programs that measure may import it.
package raytest
