package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// RefuseUnsupported refuses a write with a dry run or a condition that is not supported, since it would write in any case. supported are the parameters and
// headers.
func RefuseUnsupported(r *http.Request, supported ...string) error {
	if IsRead(r.Method) || r.Method == http.MethodOptions {
		return nil
	}
	for _, name := range []string{"If-Match", "If-None-Match", "If-Unmodified-Since"} {
		if r.Header.Values(name) != nil && !slices.Contains(supported, name) {
			return rpcstatus.BadField("", "the condition %s is not supported here; remove it", name)
		}
	}
	if r.URL.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return rpcstatus.BadField("", "the query string cannot be read: %v", err)
	}
	for name := range query {
		switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)) {
		case "dryrun", "validateonly", "etag":
			if !slices.Contains(supported, name) {
				return rpcstatus.BadField(rpcstatus.Quoted(name), "the query parameter is not supported here; remove it")
			}
		}
	}
	return nil
}
