// Command ray stands in for Ray's command line in the containers that the local cluster runs as processes: `ray job submit`, `status`,
// `logs`, `stop`, `list` and `delete`, with the requests and exit codes of the real one. Nothing else of Ray is here.
//
// Called as python or python3 it answers the one question that the script of a submitter asks with Python, whether a dashboard is healthy,
// and hands everything else to the Python of this machine.
//
// It is a program of its own, not a part of raygate-local, because a job starts it four times: it has to be small.
package main
