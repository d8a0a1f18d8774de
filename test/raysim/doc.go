// Package raysim simulates the job API of a Ray head's dashboard: job states, ids, errors, logs, the log tail over WebSocket and token
// authentication. By default an entrypoint runs as a real process of this machine whose output is the log of the job. A test can replace
// that, change records, answer requests itself, and lose all jobs like a head without fault tolerance.
//
// It imports nothing of raygate, so that its answers do not depend on the expectations of raygate's client. The module localcluster reaches
// this package through a symbolic link, and puts it behind the head Pods of the simulated nodes. It cannot import the main module, because
// its versions of the Kubernetes modules are those of a Kubernetes release.
//
// Ray itself is not simulated: an entrypoint that calls ray.init() needs a real Ray. Of a runtime environment, the simulator applies
// env_vars and a working_dir that was uploaded as a package. It only keeps the rest in the record.
package raysim
