package e2e

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/raygate/raygate/test/raycli"
)

// Ray's job SDK reaches a cluster that asks for a token through the gateway, by TLS, with the token of a Kubernetes user and the rights that they have.
func TestRayJobSDK(t *testing.T) {
	ns := namespace(t)
	asksForToken := bytes.Replace(manifest("demo", ns, 0), []byte("spec:\n"), []byte("spec:\n  authOptions: {mode: token}\n"), 1)
	rest(t, "POST", clustersOf(ns), "application/yaml", asksForToken).want(t, 201)
	waitReady(t, ns, "demo", 0)
	flags, authority := raycli.Certificate(t)
	gateway, _ := raycli.StartGatewayWith(t, product.env.Kubeconfig, flags...)
	address := raycli.Address(gateway, ns, "demo")
	user := raycli.Caller(t, product.env.Config, ns, "user", "get", "create", "update", "delete")
	raycli.Replay(t, address, user, authority)

	reader := raycli.Caller(t, product.env.Config, ns, "reader", "get")
	stranger := raycli.Caller(t, product.env.Config, namespace(t), "stranger", "get", "create", "update", "delete")
	for method, path := range map[string]string{"POST": "/api/jobs/", "PUT": "/api/packages/gcs/_ray_pkg_0.zip", "DELETE": "/api/jobs/long"} {
		raycli.NewSDK(t, address, reader, authority).Refused(http.StatusForbidden, method, path)
	}
	raycli.NewSDK(t, address, stranger, authority).Refused(http.StatusForbidden, "GET", "/api/jobs/")
	raycli.NewSDK(t, address, "", authority).Refused(http.StatusUnauthorized, "GET", "/api/version")
	raycli.NewSDK(t, address, "wrong", authority).Refused(http.StatusUnauthorized, "GET", "/api/version")

	t.Run("command line of Ray", func(t *testing.T) {
		raycli.Use(t, raycli.Find(t, true), address, user, authority)
	})
}
