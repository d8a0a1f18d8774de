// Package programs runs the built programs of bin/ as child processes of a test, so that tests cover the programs that users start. They
// must have been built (`make build`).
package programs
