// Package v1 serves KubeRay's V1 API by REST, under /apis/v1, by its own rules on JSON and on paths: content types are not looked at, members that no message
// has are ignored (a Warning header names them), every success is a 200, and an error has a code and a message and nothing else, because KubeRay's Go
// client refuses answers with more. What else there is to say of an error is in headers.
package v1
