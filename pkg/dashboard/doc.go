// Package dashboard is a client of the HTTP APIs of the dashboard of a Ray head. For jobs, it submits, lists, gets, stops and deletes them,
// and reads their logs. For Ray Serve, it deploys applications, reads their state, and checks whether a proxy accepts requests.
//
// Every call returns within its deadline, whatever server answers. It returns a bounded answer or an Error whose sentinel says what a
// caller can do about it. The client has no state except that of its http.RoundTripper; it retries nothing and logs nothing. It imports
// nothing else of this module, so that operator, gateway and command line can share it.
package dashboard
