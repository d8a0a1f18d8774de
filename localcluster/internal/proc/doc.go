// Package proc runs the parts of the local cluster as child processes. Each writes its output to a log file and has its own
// process group, so Ctrl-C in the terminal reaches only the supervisor, which stops the parts in order. Where the system supports
// it, the parts end with the supervisor.
package proc
