// Package proc runs the parts of the local cluster as child processes: output
// to a log file, a process group of its own (Ctrl-C in the terminal reaches only
// the supervisor, which then stops the parts in order), and death together with
// the supervisor where the system offers it.
package proc
