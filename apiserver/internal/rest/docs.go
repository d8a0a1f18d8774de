package rest

import (
	_ "embed"
	"net/http"
)

// docsPage shows the OpenAPI document without fetching anything from elsewhere.
//
//go:embed docs.html
var docsPage []byte

// WritePage writes a page whose scripts are in it and fetch from this server only.
func WritePage(w http.ResponseWriter, page []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	_, _ = w.Write(page)
}

func (s *Server) serveOpenAPI(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	_, _ = w.Write(s.OpenAPI)
}
