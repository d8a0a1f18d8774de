// Package raysim simulates the job API of a Ray head's dashboard: job states, ids, errors, logs, the log tail over WebSocket and token
// authentication. By default an entrypoint runs as a real process of this machine whose output is the log of the job; a test can hand in
// something else, and can change records, answer requests itself, and lose all jobs as a head without fault tolerance does.
//
// It imports nothing of raygate, so that what it answers cannot follow from what raygate's client expects. The module localcluster, which
// cannot import the main one (its versions of the Kubernetes modules are those of a Kubernetes release), reaches this package through a
// symbolic link, and puts it behind the head Pods of the simulated nodes.
//
// Not simulated: Ray itself. An entrypoint that calls ray.init() needs a Ray of its own. Of a runtime environment, env_vars and a working_dir
// that was uploaded as a package are honoured, the rest is kept in the record only.
package raysim
