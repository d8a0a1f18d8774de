package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/test/console/internal/browser"
	"github.com/raygate/raygate/test/console/internal/product"
)

// pictures is the folder for pictures of every page that the tests look at; empty for none.
var pictures = os.Getenv("SCREENSHOTS")

// realRay is an image of real Ray, for a gateway at the Unix socket $RAYGATE_SOCKET. Empty means a gateway of the tests with simulated Ray.
var realRay = os.Getenv("RAYGATE_IMAGE")

// stage is what all tests share.
var stage struct {
	*product.Product
	chromium *browser.Browser
	// admin may do everything, reader may read everything of Ray, and nobody nothing.
	admin, reader, nobody string
}

func TestMain(m *testing.M) {
	code, err := run(m)
	switch {
	case errors.Is(err, browser.ErrMissing) && os.Getenv("REQUIRED") != "1":
		fmt.Fprintln(os.Stderr, "test-console: not run:", err)
	case err != nil:
		fmt.Fprintln(os.Stderr, "test-console:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctx := context.Background()
	chromium, err := browser.Start(ctx)
	if err != nil {
		return 0, err
	}
	defer chromium.Stop()
	stage.chromium = chromium
	if realRay != "" {
		gateway := httptest.NewServer(atSocket(os.Getenv("RAYGATE_SOCKET")))
		defer gateway.Close()
		stage.Product = &product.Product{URL: gateway.URL}
		return m.Run(), nil
	}
	if stage.Product, err = product.Start(ctx); err != nil {
		return 0, err
	}
	defer stage.Stop()
	if err := makeUsers(ctx); err != nil {
		return 0, err
	}
	code := m.Run()
	if code != 0 {
		programs.PrintLogs(4000, stage.Operator, stage.Gateway)
	}
	return code, nil
}

// atSocket passes requests on to a Unix socket, for Chromium in a network namespace of its own.
func atSocket(path string) http.Handler {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", r.In.Host },
		Transport: &http.Transport{DialContext: dial},
	}
}

func makeUsers(ctx context.Context) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "ray-reader"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"ray.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"pods", "events"}, Verbs: []string{"get", "list", "watch"}},
	}}
	if err := stage.Client.Create(ctx, role); err != nil {
		return err
	}
	for _, user := range []struct {
		token      *string
		name, role string
	}{{&stage.admin, "admin", "cluster-admin"}, {&stage.reader, "reader", role.Name}, {&stage.nobody, "nobody", ""}} {
		token, err := stage.User(ctx, "default", user.name, user.role, true)
		if err != nil {
			return err
		}
		*user.token = token
	}
	return nil
}
