// Package raycli uses the dashboard of a cluster through the gateway as Ray's own clients do: it replays the requests of Ray's job SDK, and
// runs Ray's command line itself. Both have the token of a caller with the rights that docs/python.md requires.
package raycli
