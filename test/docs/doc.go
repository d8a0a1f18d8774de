// Package docs reads the commands in README.md and docs/*.md, so that tests can run them unchanged. It requires for each block of commands
// that a test runs it, or a reason why none does. `make verify` checks links between the pages when it makes the site.
//
// A comment before a block declares that:
//
//	<!-- run: test/move TestMoveAndBack -->
//	<!-- not run: needs a GPU -->
//	<!-- not run below: examples with files of the reader -->
//
// The last one applies until the end of the page. Only _test.go files may import the package.
package docs
