package rest

import (
	"net/http"

	"google.golang.org/grpc/metadata"
)

// Metadata is what services see of the header of a request: what passed lists by canonical names, under its keys. Nothing else reaches them: no header of
// a proxy can pass for an identity. The values are shared.
func Metadata(header http.Header, passed map[string]string) metadata.MD {
	md := make(metadata.MD, len(passed))
	for name, key := range passed {
		if values := header[name]; len(values) > 0 {
			md[key] = values
		}
	}
	return md
}
