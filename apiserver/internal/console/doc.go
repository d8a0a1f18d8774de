// Package console is the web console: its static files, the session of a browser, and the few reads that the pages need beside version 2 of the REST API.
//
// The pages are plain ES modules in web/, embedded and served as they are. What they show they read from the REST API with the rights of the caller; this
// package has no rights and no authentication of its own. The only library is Preact with htm, in web/vendor: hack/generate-console.sh holds its version and
// hash, and downloads it with --fetch. A browser's session is a cookie with the caller's Kubernetes token, which is turned into an
// Authorization header in one place ([Console.WithSession]), before package flowcontrol finds out who calls.
package console
