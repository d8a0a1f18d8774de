// Package v1 serves KubeRay's V1 API by REST, under /apis/v1, by its own rules on JSON and on paths. Content types are ignored. Unknown
// members are ignored and named in a Warning header. Every success is a 200. An error only has a code and a message, because KubeRay's Go
// client refuses answers with more; its other details are in headers.
package v1
