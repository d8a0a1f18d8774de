package rayservice

import (
	"testing"
	"testing/synctest"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/dashboard"
)

// TestHealthOfAProxyWithOptions asks the proxy as Serve was started.
func TestHealthOfAProxyWithOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService(func(spec *rayv1.RayServiceSpec) {
			spec.ServeConfigV2 = "{applications: [{name: shop, import_path: 'a:b'}], http_options: {root_path: /shop, ssl_certfile: /tls/cert.pem}}"
		}))
		s.until("ready", func(rs *rayv1.RayService) bool { return is(rs, rayv1.RayServiceReady) })
		s.mu.Lock()
		defer s.mu.Unlock()
		for o, n := range s.asked {
			if want := (dashboard.ServeHTTPOptions{RootPath: "/shop", TLS: true}); o != want {
				t.Errorf("asked %d times with %+v", n, o)
			}
		}
		if len(s.asked) == 0 {
			t.Error("nobody was asked")
		}
	})
}
