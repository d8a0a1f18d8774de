// Package openapi holds the OpenAPI 3.1 document of the v2 API, for the gateway to serve.
package openapi

import _ "embed"

// V2 is the document as JSON. It must not be changed.
//
//go:embed raygate.v2.openapi.json
var V2 []byte
