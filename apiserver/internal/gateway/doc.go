// Package gateway is the HTTP door: REST over the gRPC services, OpenAPI, documentation and health. It holds no logic of the API:
// a REST request becomes a call of the same services and passes the same interceptors.
package gateway
