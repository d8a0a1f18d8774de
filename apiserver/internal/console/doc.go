// Package console is the web console: its static files, the session of a browser, and the few reads that the pages need beside version 2 of the REST API.
//
// The pages are plain ES modules in web/, embedded and served unchanged. They read their data from the REST API with the rights of the
// caller; this package has no rights and no authentication of its own. A browser's session is a cookie with the caller's Kubernetes token.
// One place turns it into an Authorization header ([Console.WithSession]), before package edge identifies the caller.
package console
