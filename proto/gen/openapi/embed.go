// Package openapi holds the OpenAPI 3.1 document of the v2 API, and the Swagger documents of KubeRay's V1 API, for the gateway to serve.
package openapi

import "embed"

// V2 is the document of v2 as JSON. It must not be changed.
//
//go:embed raygate.v2.openapi.json
var V2 []byte

// KubeRay has the documents of V1 in its folder kuberay, one per proto file.
//
//go:embed kuberay/*.swagger.json
var KubeRay embed.FS
