package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientrest "k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/test/controlplane"
)

// deploy sends a configuration to Ray Serve, as KubeRay did. The endpoints of the head Service may come after its Pod.
func (p *production) deploy(cluster, config string) {
	p.t.Helper()
	p.eventually("Serve of "+cluster, func() error {
		resp, err := p.http(p.t.Context(), http.MethodPut, cluster+"-head-svc:8265/proxy/api/serve/applications/", config)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("HTTP %d: %s", resp.StatusCode, body)
		}
		return err
	})
}

// http reaches a Service through the API server, as the administrator.
func (p *production) http(ctx context.Context, method, path, body string) (*http.Response, error) {
	h, err := clientrest.HTTPClientFor(p.env.Config)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("%s/api/v1/namespaces/%s/services/%s", p.env.Config.Host, p.namespace, path), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return h.Do(req)
}

// answer is what a service answers now.
func (p *production) answer(ctx context.Context, name string) (string, error) {
	resp, err := p.http(ctx, http.MethodGet, name+"-serve-svc:8000/proxy/", "")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	var body struct {
		Config struct{ Answer string } `json:"user_config"`
	}
	if err := json.Unmarshal(data, &body); resp.StatusCode != http.StatusOK || err != nil || body.Config.Answer == "" {
		return "", fmt.Errorf("HTTP %d: %q: %w", resp.StatusCode, data, err)
	}
	return body.Config.Answer, nil
}

// requests are sent one after the other until they are stopped.
type requests struct {
	cancel  context.CancelFunc
	ended   chan struct{}
	answers map[string]int
	lost    []string
}

func (p *production) ask(name string) *requests {
	ctx, cancel := context.WithCancel(p.t.Context())
	r := &requests{cancel: cancel, ended: make(chan struct{}), answers: map[string]int{}}
	go func() {
		defer close(r.ended)
		for ctx.Err() == nil {
			limited, done := context.WithTimeout(context.WithoutCancel(ctx), await.Limit)
			answer, err := p.answer(limited, name)
			done()
			if err != nil {
				r.lost = append(r.lost, err.Error())
			}
			r.answers[answer]++
			time.Sleep(50 * time.Millisecond)
		}
	}()
	p.t.Cleanup(r.stop)
	return r
}

func (r *requests) stop() {
	r.cancel()
	<-r.ended
}

// seen are the Pods and Jobs that came and went.
type seen struct {
	mu         sync.Mutex
	made, gone []string
}

// watch looks at Pods and Jobs, which includes what has come and gone between two looks.
func (p *production) watch() *seen {
	p.t.Helper()
	s := &seen{}
	w, err := client.NewWithWatch(p.env.Config, client.Options{Scheme: controlplane.Scheme(p.t)})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, list := range []client.ObjectList{&corev1.PodList{}, &batchv1.JobList{}} {
		if err := w.List(p.t.Context(), list, client.InNamespace(p.namespace)); err != nil {
			p.t.Fatal(err)
		}
		since := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
		events, err := w.Watch(p.t.Context(), list, client.InNamespace(p.namespace), since)
		if err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(events.Stop)
		go s.follow(p.t, events)
	}
	return s
}

func (s *seen) follow(t *testing.T, events watch.Interface) {
	for e := range events.ResultChan() {
		o, err := meta.Accessor(e.Object)
		s.mu.Lock()
		switch {
		case e.Type == watch.Added:
			s.made = append(s.made, o.GetName())
		case e.Type == watch.Deleted:
			s.gone = append(s.gone, o.GetName())
		case e.Type == watch.Error, err != nil:
			s.made = append(s.made, fmt.Sprintf("the watch ended: %v", e.Object))
		}
		s.mu.Unlock()
	}
	if t.Context().Err() == nil {
		s.mu.Lock()
		s.made = append(s.made, "the watch ended")
		s.mu.Unlock()
	}
}

// only fails the test unless nothing was made and just these Pods and Jobs have gone.
func (p *production) only(by string, gone ...string) {
	p.t.Helper()
	p.eventually("what went "+by, func() error {
		p.seen.mu.Lock()
		defer p.seen.mu.Unlock()
		if len(p.seen.made) > 0 {
			p.t.Fatalf("made %s: %v", by, p.seen.made)
		}
		slices.Sort(p.seen.gone)
		slices.Sort(gone)
		if diff := cmp.Diff(gone, p.seen.gone); diff != "" && len(gone)+len(p.seen.gone) > 0 {
			if len(p.seen.gone) > len(gone) {
				p.t.Fatalf("gone %s (-want +got):\n%s", by, diff)
			}
			return errors.New(diff)
		}
		return nil
	})
}
