// Command ray replaces Ray's command line in containers that the local cluster runs as processes. It implements `ray job submit`,
// `status`, `logs`, `stop`, `list` and `delete` with the requests and exit codes of the real command, and nothing else of Ray.
//
// Called as python or python3, it answers the health check in the script of a submitter and passes all other calls to the
// machine's Python.
//
// It is separate from raygate-local to stay small: each job starts it four times.
package main
