// Package docs reads the commands in README.md and docs/*.md, so that tests can run them as they stand there, and demands of each block of commands that
// a test runs it or that it says why none does. Links between the pages are checked by `make verify`, which makes the site of them.
//
// A comment before a block says which:
//
//	<!-- run: test/move TestMoveAndBack -->
//	<!-- not run: needs a GPU -->
//	<!-- not run below: examples with files of the reader -->
//
// The last one holds until the end of the page. Only _test.go files may import the package.
package docs
