// Command bench measures raygate against the API server it runs on and prints a table: what was measured, the same work
// done without raygate, the ratio of the two, and the aim.
//
// It starts a control plane of its own for every scenario and runs the programs of bin/ as they are shipped. It measures both sides of a ratio
// in the same run, in turns, because the figures of two runs or two machines cannot be compared. It does not fail for slow results; it fails for
// wrong or missing ones. docs/benchmarks.md explains each figure.
package main
