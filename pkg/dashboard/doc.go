// Package dashboard is a client of the APIs that the dashboard of a Ray head serves over HTTP. Jobs: submit, list, get, stop
// and delete them, and read their logs. Ray Serve: deploy applications and ask for their state; and whether a proxy of Serve
// takes requests.
//
// Whatever answers at the other end, a call returns within its deadline with a bounded answer or with an Error whose
// sentinel says what a caller can do about it. The client keeps no state but what its http.RoundTripper keeps, retries
// nothing and logs nothing. It imports nothing else of this module, so that operator, gateway and command line share it.
package dashboard
