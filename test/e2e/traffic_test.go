package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	clientrest "k8s.io/client-go/rest"

	"github.com/raygate/raygate/internal/testing/await"
)

// pace is the time between two requests of a client. It is shorter than lag, and long enough that proxying is not most of the work of the API server.
const pace = 100 * time.Millisecond

// toAPIServer makes requests as the administrator.
var toAPIServer = sync.OnceValues(func() (*http.Client, error) { return clientrest.HTTPClientFor(product.env.Config) })

// get reaches a port of a Service through the API server.
func get(ctx context.Context, ns, service string, port int, path string) (*http.Response, error) {
	h, err := toAPIServer()
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("%s/api/v1/namespaces/%s/services/%s:%d/proxy%s", product.env.Config.Host, ns, service, port, path)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return h.Do(req)
}

// ask sends a request to the application behind a Service and returns its answer.
func ask(ctx context.Context, ns, service string) (string, error) {
	resp, err := get(ctx, ns, service, 8000, "/shop")
	if err != nil {
		return "", err
	}
	return readAnswer(resp)
}

func readAnswer(resp *http.Response) (string, error) {
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("HTTP %d: %s", resp.StatusCode, data)
	}
	var body struct {
		Config struct{ Answer string } `json:"user_config"`
	}
	if err := json.Unmarshal(data, &body); err != nil || body.Config.Answer == "" {
		return "", fmt.Errorf("the answer is %q: %w", data, err)
	}
	return body.Config.Answer, nil
}

// requests are sent at a constant rate, whether earlier ones are answered or not.
type requests struct {
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu   sync.Mutex
	sent int
	lost []string
}

// sendRequests sends requests to the Services that pick names, until it is stopped.
func sendRequests(t *testing.T, ns string, pick func() string) *requests {
	t.Helper()
	r := &requests{}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(t.Context())
	begin := time.Now()
	r.all.Go(func() {
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			r.all.Go(func() { r.send(t, ns, pick(), begin) })
		}
	})
	t.Cleanup(r.stop)
	return r
}

func (r *requests) send(t *testing.T, ns, service string, begin time.Time) {
	at := time.Since(begin)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), await.Limit) // no request depends on speed
	defer cancel()
	_, err := ask(ctx, ns, service)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent++
	if err != nil {
		r.lost = append(r.lost, fmt.Sprintf("%.1f s: %s: %v", at.Seconds(), service, err))
	}
}

// stop ends sending and waits for all answers.
func (r *requests) stop() {
	r.cancel()
	r.all.Wait()
}

// noneLost ends sending, and fails the test unless all requests were answered.
func (r *requests) noneLost(t *testing.T) {
	t.Helper()
	r.stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lost) > 0 {
		t.Errorf("%d of %d requests were lost:\n%s", len(r.lost), r.sent, strings.Join(r.lost[:min(len(r.lost), 10)], "\n"))
	}
	if r.sent == 0 {
		t.Error("no request was sent")
	}
	t.Logf("%d requests, %d lost", r.sent, len(r.lost))
}
