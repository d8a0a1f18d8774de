// Package programs runs the built programs of bin/ as child processes of a test, so that what is tested is what people
// start. The programs must have been built (`make build`).
package programs
