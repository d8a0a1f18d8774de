package controlplane

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/localcluster/internal/proc"
)

// Wait waits until a process is ready.
type Wait struct {
	Process *proc.Process
	For     string // a noun for messages
	Limit   time.Duration
	// Progress is called every few seconds with the last error.
	Progress func(format string, args ...any)
}

// until calls ask until it succeeds, the process ends, or the limit is over.
func (w Wait) until(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, w.Limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	begin, told := time.Now(), time.Now()
	for {
		one, cancelOne := context.WithTimeout(ctx, 5*time.Second)
		err := ask(one)
		cancelOne()
		if err == nil {
			return nil
		}
		if time.Since(told) > 3*time.Second {
			told = time.Now()
			w.Progress("waiting for %s, %d s so far (%v)", w.For, int(time.Since(begin).Seconds()), err)
		}
		select {
		case <-w.Process.Done():
			return died(w.Process)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last answer: %w", w.For, ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// AskHTTP returns an error unless the URL answers with status 200 within a few seconds.
func AskHTTP(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}

// listens succeeds once the port is open; then the certificate file is complete.
func listens(port int) func(context.Context) error {
	return func(ctx context.Context) error {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = c.Close()
		}
		return err
	}
}

func apiServerReady(cfg *rest.Config) func(context.Context) error {
	return func(ctx context.Context) error {
		client, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return err
		}
		if body, err := client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Raw(); err != nil {
			if checks := failing(string(body)); len(checks) > 0 {
				return fmt.Errorf("not done yet: %s", strings.Join(checks, ", "))
			}
			return err
		}
		_, err = client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err
	}
}

// failing returns the names of the failed checks in a response of /readyz, whose lines look like "[-]etcd failed: reason
// withheld".
func failing(body string) []string {
	var out []string
	for line := range strings.Lines(body) {
		if check, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ := strings.Cut(strings.TrimSpace(check), " ")
			out = append(out, name)
		}
	}
	return out
}

func defaultServiceAccount(cfg *rest.Config) func(context.Context) error {
	return func(ctx context.Context) error {
		client, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return err
		}
		_, err = client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	}
}

// UntilHTTP waits until url answers with status 200.
func (w Wait) UntilHTTP(ctx context.Context, url string) error {
	return w.until(ctx, func(ctx context.Context) error { return AskHTTP(ctx, url) })
}
