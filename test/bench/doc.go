// Command bench measures raygate against the API server it runs on and prints a table: what was measured, the same work
// done without raygate, the ratio of the two, and the aim.
//
// It starts a control plane of its own for every scenario, runs the programs of bin/ as they are shipped, and takes both
// sides of a ratio in the same run, in turns, because the figures of two runs or two machines cannot be compared. It
// never fails because something is slow; it does fail when a result is wrong or never comes. docs/benchmarks.md tells
// what each figure means.
package main
